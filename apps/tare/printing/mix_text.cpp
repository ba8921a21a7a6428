#include "mix_text.h"

#include "tare/report.h"

#include <cmath>
#include <functional>
#include <map>

namespace tare::cli {
namespace {

/// Three digits and a power of 1000: "1.52 G".
std::string count_text(double count) {
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T", " P"};
  constexpr double kStep = 1000;
  std::size_t unit = 0;
  while (count >= kStep && unit + 1 < std::size(kUnits)) {
    count /= kStep;
    ++unit;
  }
  return fmt::format("{:.3g}{}", count, kUnits[unit]);
}

std::string size_text(double bytes) {
  return bytes_text(static_cast<std::uintmax_t>(bytes));
}

/// "480.1 KiB of 488.3 KiB; 618.0 KiB with 8 bits wherever there is a choice, 330.2 KiB with 2"
std::string taken_text(const WidthMix& mix, double NetworkCost::*cost,
                       const std::function<std::string(double)>& text) {
  const double limit = mix.limit.*cost;
  const std::string of_limit = std::isfinite(limit) ? " of " + text(limit) : "";
  return fmt::format("{}{}; {} with {} bits wherever there is a choice, {} with {}\n",
                     text(mix.taken.*cost), of_limit, text(mix.widest.*cost), mix.most_bits,
                     text(mix.least.*cost), mix.least_bits);
}

/// "8 bits: 5 layers, 4 bits: 17 layers"
std::string widths_text(const WidthMix& mix) {
  std::map<int, std::size_t, std::greater<>> layers;
  for (const LayerWidth& layer : mix.layers) {
    ++layers[layer.bits];
  }
  std::string text;
  for (const auto& [bits, count] : layers) {
    text +=
        (text.empty() ? "" : ", ") + fmt::format("{} bits: {}", bits, counted(count, "layer"));
  }
  return text.empty() ? "no layer has weights" : text;
}

std::string configuration_text(const SearchResult& found) {
  std::string text = fmt::format("calibration: {{samples: {}}}\n", found.calibrated_on);
  if (found.config.packs_weights) {
    text += fmt::format("weights: {{packed: {}}}\n", *found.config.packs_weights);
  }
  text += "layers:\n";
  for (const LayerWidth& layer : found.mix->layers) {
    for (const std::string& node : layer.nodes) {
      if (!layer.is_given) {
        text += fmt::format("  - {{match: {{name: {}}}, weights: {{bits: {}}}}}\n",
                            yaml_scalar(node), layer.bits);
      }
    }
  }
  return text;
}

}  // namespace

std::string mix_text(const SearchResult& found) {
  const WidthMix& mix = *found.mix;
  const std::optional<double>& sqnr = found.plans[found.chosen].sqnr;
  const std::string loss = !sqnr               ? "not defined"
                           : std::isinf(*sqnr) ? "exact"
                                               : fmt::format("output SQNR {:.1f} dB", *sqnr);
  return "  widths      " + widths_text(mix) + "\n" + "  size        " +
         taken_text(mix, &NetworkCost::bytes, size_text) + "  operations  " +
         taken_text(mix, &NetworkCost::bit_operations, count_text) + "  loss        " + loss +
         " on " + counted(found.evaluated_on, "sample") + "\n" + configuration_text(found);
}

}  // namespace tare::cli
