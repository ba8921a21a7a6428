// From a menu of widths to a network within a budget. What a mix takes is predicted but for a
// few bytes, as names and numbers of parameters do not depend on widths, and for factors of
// channels (equalization), which only the files of some mixes state. Where a file is larger,
// the difference counts as what the rest of the network takes, and another mix is chosen.
#include "pipeline/budget_trials.h"

#include "tare/error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace tare {
namespace {

bool is_within(const NetworkCost& cost, const NetworkCost& limit) {
  return cost.bytes <= limit.bytes && cost.bit_operations <= limit.bit_operations;
}

NetworkCost operator-(const NetworkCost& a, const NetworkCost& b) {
  return {a.bytes - b.bytes, a.bit_operations - b.bit_operations};
}

/// What the menu expects of the layers alone.
NetworkCost sum_of(const WidthMenu& menu, const std::vector<LayerWidth>& layers) {
  NetworkCost sum;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto& options = menu.layers[i].options;
    const auto chosen =
        std::find_if(options.begin(), options.end(),
                     [&](const WidthOption& option) { return option.bits == layers[i].bits; });
    sum.bytes += chosen->bytes;
    sum.bit_operations += chosen->bit_operations;
  }
  return sum;
}

std::vector<LayerWidth> widest_of(const WidthMenu& menu) {
  std::vector<LayerWidth> result;
  for (const WeightedLayer& layer : menu.layers) {
    result.push_back({.nodes = layer.nodes, .bits = layer.options.front().bits});
  }
  return result;
}

/// A choice of one option of each layer.
struct Choice {
  std::vector<LayerWidth> layers;
  double error = 0;
};

/// Where `keeps_ends`, the first and the last layer have one option.
std::optional<Choice> best_choice(const WidthMenu& menu, const WidthLimits& limits,
                                  bool keeps_ends) {
  std::vector<std::vector<WidthOption>> options;
  for (const WeightedLayer& layer : menu.layers) {
    options.push_back(layer.options);
  }
  if (keeps_ends && !options.empty()) {
    options.front().resize(1);
    options.back().resize(1);
  }
  const auto chosen = least_error_within(options, limits);
  if (!chosen) {
    return std::nullopt;
  }
  Choice result;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const WidthOption& option = options[i][(*chosen)[i]];
    result.layers.push_back({.nodes = menu.layers[i].nodes,
                             .bits = option.bits,
                             .error = option.error,
                             .is_given = menu.layers[i].is_given});
    result.error += option.error;
  }
  return result;
}

/// The widths that take the fewest bytes, and of those the ones that lose least.
std::vector<LayerWidth> smallest(const WidthMenu& menu) {
  double bytes = 0;
  for (const WeightedLayer& layer : menu.layers) {
    bytes += std::min_element(
                 layer.options.begin(), layer.options.end(),
                 [](const WidthOption& a, const WidthOption& b) { return a.bytes < b.bytes; })
                 ->bytes;
  }
  return best_choice(menu, {bytes, std::numeric_limits<double>::infinity()}, false)->layers;
}

std::string amount(double bytes_or_operations) {
  return std::to_string(std::llround(bytes_or_operations));
}

void require_choices(const WidthMenu& menu) {
  if (std::all_of(menu.layers.begin(), menu.layers.end(),
                  [](const WeightedLayer& layer) { return layer.is_given; })) {
    throw Error(
        ErrorCode::kInvalidConfig, "budget",
        "leaves no choice: no layer has real weights of open width that can be integers")
        .hint(
            "entries of 'layers' with 'weights.bits' or 'weights.storage' are kept to, and so "
            "is 'keep_float'");
  }
}

/// Says what was reached and what else could be done.
Error too_little(const WidthMenu& menu, const NetworkCost& limit, const NetworkCost& least,
                 const Target& target) {
  const std::string everywhere =
      " with " + std::to_string(menu.bits.back()) + " bits for all weights that may have them";
  Faults faults;
  if (least.bytes > limit.bytes) {
    faults.add("budget 'size'",
               "is " + amount(limit.bytes) + " bytes, but the file has " + amount(least.bytes) +
                   everywhere,
               "at least " + amount(least.bytes) + " bytes",
               target.packs_weights
                   ? "the rest is what 'layers' keeps in float or gives more bits, and tables, "
                     "which 'embeddings.storage: int8' or 'objective: size' makes smaller"
                   : "'weights.packed: true' stores weights of 4 bits in half a byte each");
  }
  if (least.bit_operations > limit.bit_operations) {
    faults.add("budget 'bops'",
               "is " + amount(limit.bit_operations) + ", but the network takes " +
                   amount(least.bit_operations) + everywhere,
               "at least " + amount(least.bit_operations),
               "fewer bits of activations take fewer: 'activations.bits'");
  }
  if (faults.empty()) {
    faults.add("budget", "no mix of widths stays within all of it", "a little more");
  }
  return {ErrorCode::kInvalidConfig, faults.all()};
}

}  // namespace

NetworkCost limits_of(const Budget& budget, const NetworkCost& widest) {
  const auto limit = [](const std::optional<BudgetLimit>& given, double whole) {
    return !given            ? std::numeric_limits<double>::infinity()
           : given->is_share ? given->amount * whole
                             : given->amount;
  };
  return {limit(budget.size, widest.bytes),
          limit(budget.bit_operations, widest.bit_operations)};
}

std::optional<std::vector<LayerWidth>> widths_within(const WidthMenu& menu,
                                                     const NetworkCost& limit,
                                                     const NetworkCost& rest) {
  constexpr double kWorth = 2;  // 3 dB, beyond which estimates of errors are to be believed
  const NetworkCost left = limit - rest;
  const WidthLimits limits{left.bytes, left.bit_operations};
  const auto best = best_choice(menu, limits, false);
  if (!best) {
    return std::nullopt;
  }
  const auto with_ends = best_choice(menu, limits, true);
  return with_ends && with_ends->error <= kWorth * best->error ? with_ends->layers
                                                               : best->layers;
}

MixTrial try_widths(const WidthMenu& menu, const Budget& budget, const Config& config,
                    const Target& target, const std::filesystem::path& file,
                    const std::function<QuantizeResult(const Config&)>& quantize) {
  require_choices(menu);
  const NetworkCost limit = limits_of(budget, menu.uniform.front());
  NetworkCost rest = menu.uniform.front() - sum_of(menu, widest_of(menu));
  NetworkCost least = menu.uniform.back();
  bool is_last = false;
  for (std::size_t trials = 1;; ++trials) {
    auto layers = widths_within(menu, limit, rest);
    if (!layers) {
      if (trials == 1 || is_last) {
        throw too_little(menu, limit, least, target);
      }
      layers = smallest(menu);  // whose rest may be smaller than that of other mixes
      is_last = true;
    }
    Config mixed = apply_widths(config, *layers);
    QuantizeResult result = quantize(mixed);
    const NetworkCost taken = cost_of(result, file);
    if (is_within(taken, limit)) {
      return {.mix = {.layers = *std::move(layers),
                      .limit = limit,
                      .taken = taken,
                      .widest = menu.uniform.front(),
                      .least = menu.uniform.back(),
                      .most_bits = menu.bits.front(),
                      .least_bits = menu.bits.back()},
              .config = std::move(mixed),
              .result = std::move(result),
              .trials = trials};
    }
    // More than before, as a mix was expected to fit that does not: this ends.
    const NetworkCost own = taken - sum_of(menu, *layers);
    rest = {std::max(rest.bytes, own.bytes), std::max(rest.bit_operations, own.bit_operations)};
    least = trials == 1 ? taken
                        : NetworkCost{std::min(least.bytes, taken.bytes),
                                      std::min(least.bit_operations, taken.bit_operations)};
  }
}

}  // namespace tare
