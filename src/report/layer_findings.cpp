// What can be wrong with a layer: weight ranges, biases, accumulators, values that are not
// finite, and losses for no other reason. docs/report.md has the thresholds.
#include "report/figures.h"
#include "report/findings.h"
#include "report/yaml_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tare {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

double magnitude(const ChannelReport& channel) {
  return std::max(-channel.low, channel.high);
}

struct ChannelSpread {
  std::size_t widest = 0;
  double ratio = 0;          ///< of the widest to the median channel
  std::size_t poor = 0;      ///< channels that keep less than `kPoorChannel`
  double least = kInfinite;  ///< their least SQNR
};

/// Errors of a tenth of a channel's weights.
constexpr double kPoorChannel = 20;

/// Channels below a thousandth of the widest one compute next to nothing and count as dead.
ChannelSpread spread_of(const std::vector<ChannelReport>& channels) {
  constexpr double kDead = 1e-3;
  ChannelSpread spread;
  std::vector<double> magnitudes;
  for (const ChannelReport& channel : channels) {
    magnitudes.push_back(magnitude(channel));
  }
  const auto widest = std::max_element(magnitudes.begin(), magnitudes.end());
  spread.widest = static_cast<std::size_t>(widest - magnitudes.begin());
  const double largest = *widest;
  for (std::size_t c = 0; c < channels.size(); ++c) {
    const double sqnr = channels[c].sqnr.value_or(kInfinite);
    if (magnitudes[c] > kDead * largest && sqnr < kPoorChannel) {
      ++spread.poor;
      spread.least = std::min(spread.least, sqnr);
    }
  }
  const auto middle = magnitudes.begin() + static_cast<std::ptrdiff_t>(magnitudes.size() / 2);
  std::nth_element(magnitudes.begin(), middle, magnitudes.end());
  spread.ratio = *middle > 0 ? largest / *middle : kInfinite;
  return spread;
}

double local_sqnr(const LayerReport& layer) {
  return layer.local ? sqnr_of(*layer.local) : kInfinite;
}

Explanation keep_float(const std::string& kind, const LayerReport& layer, std::string text,
                       std::string advice = "keep it in float") {
  return {.kind = kind,
          .text = std::move(text),
          .advice = std::move(advice),
          .yaml = layer_rules({layer.name}, "keep_float: true"),
          .change = {.keep_float = {layer.name}, .point = {}, .range = {}}};
}

}  // namespace

void find_weight_ranges(Findings& findings) {
  for (const LayerReport& layer : findings.report().layers) {
    if (!layer.weight || layer.weight->channels.size() < 2 || findings.explained(layer)) {
      continue;
    }
    const ChannelSpread spread = spread_of(layer.weight->channels);
    if (spread.poor == 0) {
      continue;
    }
    const std::string poor = counted(spread.poor, "channel") + " of " +
                             std::to_string(layer.weight->channels.size()) +
                             (spread.poor == 1 ? " has" : " have") + " an SQNR below " +
                             decibels(kPoorChannel);
    if (layer.weight->axis) {
      findings.add(layer,
                   keep_float("weight_error", layer,
                              "weights have a scale for each channel, and still " + poor +
                                  ", the worst to " + decibels(spread.least),
                              "some weights of a channel are far larger than the others: keep "
                              "the layer in float"),
                   spread.least);
      continue;
    }
    findings.add(layer,
                 {.kind = "weight_range",
                  .text = "all weights share one scale, but those of channel " +
                          std::to_string(spread.widest) + " are " + brief(spread.ratio) +
                          " times as large as those of the usual one: " + poor,
                  .advice = "give each channel a scale of its own",
                  .yaml = layer_rules({layer.name}, "weights: {granularity: per_axis}")},
                 spread.least);
  }
}

void find_bias_overflow(Findings& findings) {
  for (const LayerReport& layer : findings.report().layers) {
    if (!layer.accumulator || layer.accumulator->widened_channels == 0 ||
        findings.explained(layer)) {
      continue;
    }
    findings.add(
        layer,
        keep_float("bias_overflow", layer,
                   "the bias of " + counted(layer.accumulator->widened_channels, "channel") +
                       " does not fit int32 at the scale of input times weight, so these "
                       "weights have a larger scale than they need"),
        local_sqnr(layer));
  }
}

void find_narrow_accumulators(Findings& findings) {
  for (const LayerReport& layer : findings.report().layers) {
    if (!layer.accumulator ||
        layer.accumulator->bits_worst_case <= layer.accumulator->bits_there) {
      continue;
    }
    const int bits = layer.accumulator->bits_there;
    findings.add(
        layer,
        keep_float("accumulator", layer,
                   "some inputs need " + std::to_string(layer.accumulator->bits_worst_case) +
                       " accumulator bits; engines have " + std::to_string(bits)),
        layer.accumulator->bits_observed.value_or(bits) > bits ? 0 : 20);
  }
}

void find_infinities(Findings& findings) {
  for (const LayerReport& layer : findings.report().layers) {
    const auto is_undefined = [](const std::optional<Deviation>& error) {
      return error && !error->exact && !error->mse;
    };
    if (is_undefined(layer.local) || is_undefined(layer.cumulative)) {
      findings.add(layer,
                   {.kind = "not_finite",
                    .text = "its results hold NaN or infinities",
                    .advice = "look for samples or weights that are not finite",
                    .yaml = {}},
                   0);
      return;  // what follows only passes them on
    }
  }
}

void find_lossy_layers(Findings& findings) {
  constexpr std::size_t kShown = 3;
  constexpr double kLossy = 20;  // errors of a tenth
  if (findings.report().level == Level::kGood) {
    return;
  }
  std::vector<const LayerReport*> layers;
  for (const LayerReport& layer : findings.report().layers) {
    if (local_sqnr(layer) < kLossy && !findings.explained(layer) &&
        !findings.follows_damage(layer)) {
      layers.push_back(&layer);
    }
  }
  std::stable_sort(layers.begin(), layers.end(), [](const auto* a, const auto* b) {
    return local_sqnr(*a) < local_sqnr(*b);
  });
  layers.resize(std::min(layers.size(), kShown));
  for (const LayerReport* layer : layers) {
    findings.add(
        *layer,
        keep_float("lossy_layer", *layer, "its local SQNR is " + decibels(local_sqnr(*layer))),
        local_sqnr(*layer));
  }
}

}  // namespace tare
