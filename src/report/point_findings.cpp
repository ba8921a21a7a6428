// What can be wrong with an activation, each found from figures of the report: masks, outlier
// channels, outliers, ranges that another calibrator would have chosen better, few levels used.
// docs/report.md has the thresholds. They are rules of thumb in bits and dB and need not be
// exact: what findings propose is tried before it is shown (pipeline/try_changes.cpp).
#include "report/figures.h"
#include "report/findings.h"
#include "report/yaml_rules.h"

#include <algorithm>
#include <cmath>

namespace tare {
namespace {

/// A layer that loses more than this by itself is worth a change: 30 dB are errors of 3 %.
constexpr double kWorthAChange = 30;

std::vector<std::string> names_of(const std::vector<const LayerReport*>& layers) {
  std::vector<std::string> names;
  std::transform(layers.begin(), layers.end(), std::back_inserter(names),
                 [](const LayerReport* layer) { return layer->name; });
  return names;
}

/// The layers that read a point, and before them the one that computes it: with all of them in
/// float nothing is rounded there.
std::vector<std::string> around(const Findings& findings, const PointReport& point) {
  std::vector<std::string> layers = names_of(findings.readers(point));
  if (!point.layer.empty()) {
    layers.insert(layers.begin(), point.layer);
  }
  return layers;
}

/// The lines that choose a calibrator for a point.
std::string calibrator_rule(const PointReport& point, const std::string& calibrator) {
  const std::string values = point.layer.empty() ? "inputs" : "activations";
  return layer_rules({point.node}, values + ": {calibrator: " + calibrator + "}");
}

bool follows_damage(const Findings& findings, const PointReport& point) {
  const LayerReport* layer = findings.layer(point.layer);
  return layer != nullptr && findings.follows_damage(*layer);
}

double reach(const Range& range) {
  return std::max(-range.low, range.high);
}

/// Values far below all others, with nothing between.
struct Gap {
  double below = 0;  ///< share of the values (of those that are not 0) on the far side
  double near = 0;   ///< magnitude of the others
};

/// A mask adds one large negative constant: a narrow heap at the low end, then at least three
/// quarters of the range empty.
std::optional<Gap> gap_of(const HistogramReport& histogram) {
  const auto& counts = histogram.counts;
  const auto is_used = [](std::uint64_t count) { return count != 0; };
  const auto heap_end = std::find(counts.begin(), counts.end(), 0U);
  const auto rest = std::find_if(heap_end, counts.end(), is_used);
  const std::ptrdiff_t widest_heap =
      std::max<std::ptrdiff_t>(counts.end() - counts.begin(), 32) / 32;
  if (rest == counts.end() || heap_end - counts.begin() > widest_heap ||
      4 * (rest - heap_end) < 3 * (counts.end() - counts.begin())) {
    return std::nullopt;
  }
  std::uint64_t below = 0;
  std::uint64_t all = 0;
  for (auto count = counts.begin(); count != counts.end(); ++count) {
    all += *count;
    below += count < heap_end ? *count : 0;
  }
  const double bar = (histogram.high - histogram.low) / static_cast<double>(counts.size());
  const double from = histogram.low + bar * static_cast<double>(rest - counts.begin());
  return Gap{static_cast<double>(below) / static_cast<double>(all),
             std::max(-from, histogram.high)};
}

/// The calibrator of least error: of several that choose alike the one that looks for that,
/// whatever the values.
const AlternativeCalibrator& best_of(const std::vector<AlternativeCalibrator>& others) {
  const auto found =
      std::find_if(others.begin(), others.end(), [&](const AlternativeCalibrator& other) {
        return other.calibrator == "mse" && other.error <= others[0].error;
      });
  return found == others.end() ? others[0] : *found;
}

/// The calibrator that gives a point this range, whatever the samples.
std::string fixed(const Range& range) {
  return "{name: fixed, low: " + brief(range.low) + ", high: " + brief(range.high) + "}";
}

}  // namespace

void find_masks(Findings& findings) {
  // Rarer ones are outliers.
  constexpr double kCommon = 0.001;
  // With less, the other values still have 16 levels or more.
  constexpr double kFar = 16;
  for (const PointReport& point : findings.report().points) {
    const auto gap = gap_of(point.histogram);
    if (!gap || gap->below < kCommon || -point.observed.low < kFar * gap->near) {
      continue;
    }
    const LayerReport* layer = findings.layer(point.layer);
    if (-point.calibrated.low < kFar * gap->near && layer != nullptr &&
        layer->op == "Softmax") {
      findings.leave(point);  // saturation does the masking
      continue;
    }
    findings.add(
        point,
        {.kind = "mask",
         .text = "a constant like that of a mask, near " + brief(point.observed.low) +
                 ", is in " + percent(gap->below) +
                 " of the values that are not 0; the others, within " + brief(gap->near) +
                 " of 0, are left with steps of " +
                 brief((point.calibrated.high - point.calibrated.low) /
                       static_cast<double>(point.levels - 1)),
         .advice = "keep the layers around it in float, or use a mask of a few times the range "
                   "of the scores",
         .yaml = layer_rules(around(findings, point), "keep_float: true"),
         .change = {.keep_float = around(findings, point), .point = {}, .range = {}}},
        std::min(findings.reader_sqnr(point), 10.0));
  }
}

void find_outlier_channels(Findings& findings) {
  // Four of the eight bits of a usual channel are lost.
  constexpr double kRatio = 16;
  for (const PointReport& point : findings.report().points) {
    const double left = findings.reader_sqnr(point);
    if (findings.explained(point) || point.channel_ratio.value_or(0) < kRatio ||
        left > kWorthAChange || point.params.per_axis()) {
      continue;
    }
    findings.add(
        point,
        {.kind = "outlier_channel",
         .text = "channel " + std::to_string(*point.widest_channel) + " reaches " +
                 brief(*point.channel_ratio) +
                 " times as far as the usual one, which is left with " +
                 brief(static_cast<double>(point.levels) / *point.channel_ratio) + " of " +
                 std::to_string(point.levels) + " levels; what reads it has a local SQNR of " +
                 decibels(left),
         .advice = "keep the layers around it in float, or scale that channel down in the "
                   "model and its weights in the next layer up",
         .yaml = layer_rules(around(findings, point), "keep_float: true"),
         .change = {.keep_float = around(findings, point), .point = {}, .range = {}}},
        left);
  }
}

void find_outliers(Findings& findings) {
  // The bulk is left with less than a third of the bits.
  constexpr double kRatio = 6;
  for (const PointReport& point : findings.report().points) {
    const double left = std::min(findings.reader_sqnr(point), sqnr_of(point.error));
    if (findings.explained(point) || point.bulk <= 0 || left > kWorthAChange ||
        reach(point.calibrated) < kRatio * point.bulk ||
        reach(point.observed) < kRatio * point.bulk) {
      continue;
    }
    findings.add(point,
                 {.kind = "activation_outlier",
                  .text = "0.1 % of the values lie beyond " + brief(point.bulk) + ", up to " +
                          brief(reach(point.observed)) + ": they take " +
                          percent(1 - point.bulk / reach(point.calibrated)) + " of the range",
                  .advice = "clip them with the calibrator 'percentile'",
                  .yaml = calibrator_rule(point, "{name: percentile, percentile: 99.9}"),
                  .change = {.keep_float = {},
                             .point = point.name,
                             .range = {std::max(point.observed.low, -point.bulk),
                                       std::min(point.observed.high, point.bulk)}}},
                 left);
  }
}

void find_saturation(Findings& findings) {
  // 3 dB: below that calibrators differ without one being wrong.
  constexpr double kFactor = 2;
  constexpr double kHarmless = 35;  // errors of 2 %
  for (const PointReport& point : findings.report().points) {
    if (findings.explained(point) || point.alternatives.empty() || !point.error.mse ||
        point.sqnr_behind.value_or(sqnr_of(point.error)) > kHarmless ||
        follows_damage(findings, point)) {
      continue;
    }
    const double error = point.error_behind.value_or(*point.error.mse);
    if (error < kFactor * point.alternatives[0].error) {
      continue;
    }
    const AlternativeCalibrator& better = best_of(point.alternatives);
    const double share = point.saturated.low + point.saturated.high;
    const bool is_narrow =
        better.range.high - better.range.low > point.calibrated.high - point.calibrated.low;
    const bool is_input = point.layer.empty();
    const std::string gain = "; '" + better.calibrator + "' would choose [" +
                             brief(better.range.low) + ", " + brief(better.range.high) +
                             "] for " + decibels(10 * std::log10(error / better.error)) +
                             " less error";
    std::string ranges = "[";
    ranges.append(brief(point.calibrated.low))
        .append(", ")
        .append(brief(point.calibrated.high));
    ranges.append("] for values in [").append(brief(point.observed.low)).append(", ");
    ranges.append(brief(point.observed.high)).append("]");
    // Calibrated with it already, on values or samples that were others.
    const bool is_so = point.calibrator.empty() || point.calibrator == better.calibrator;
    findings.add(
        point,
        {.kind = is_narrow ? "saturation" : "wide_range",
         .text = (is_narrow
                      ? percent(share) + " of the values saturate: the range is "
                      : std::to_string(point.levels_used) + " of " +
                            std::to_string(point.levels) + " levels are used: the range is ") +
                 ranges + gain,
         .advice =
             is_input && is_narrow
                 ? "calibrate on samples that are prepared like these, or set another range"
             : is_so ? "give it that range"
                     : "use that calibrator",
         .yaml = calibrator_rule(point, is_so ? fixed(better.range) : better.calibrator),
         .change = {.keep_float = {}, .point = point.name, .range = better.range}},
        sqnr_of(point.error));
  }
}

void find_few_levels(Findings& findings) {
  // An eighth of the levels: three bits are not used.
  constexpr std::size_t kPart = 8;
  for (const PointReport& point : findings.report().points) {
    const double left = std::min(findings.reader_sqnr(point), sqnr_of(point.error));
    if (findings.explained(point) || kPart * point.levels_used > point.levels ||
        sqnr_of(point.error) > kWorthAChange) {
      continue;
    }
    findings.add(point,
                 {.kind = "few_levels",
                  .text = "uses only " + std::to_string(point.levels_used) + " of " +
                          std::to_string(point.levels) + " levels (effectively " +
                          brief(point.effective_bits) + " bits): its SQNR is " +
                          decibels(sqnr_of(point.error)),
                  .advice = "keep the layers around it in float",
                  .yaml = layer_rules(around(findings, point), "keep_float: true"),
                  .change = {.keep_float = around(findings, point), .point = {}, .range = {}}},
                 left);
  }
}

}  // namespace tare
