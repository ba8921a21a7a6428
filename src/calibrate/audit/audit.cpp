// Notes what is odd in the statistics while points are decided: calibrators that were to clip
// and left everything inside, channels that are always 0, samples that occur twice. It reads
// what is there already, so it costs a pass over histograms and channels, and a sort of sample
// digests.
#include "calibrate/audit/audit.h"

#include "graph/text/literal.h"

#include <algorithm>
#include <cmath>

namespace tare {
namespace {

/// How much of a segment lies beyond `end`, upwards.
double part_above(const HistogramSegment& segment, double end) {
  if (segment.width() == 0) {
    return segment.from > end ? 1 : 0;
  }
  return std::clamp((segment.to - end) / segment.width(), 0.0, 1.0);
}

/// "[-1.5, 3]"
std::string range_text(Range range) {
  std::string text = "[";
  append_literal(text, static_cast<float>(range.low));
  text += ", ";
  append_literal(text, static_cast<float>(range.high));
  return text + "]";
}

}  // namespace

Clipped clipped_shares(const TensorStatistics& observed, Range calibrated,
                       const QuantSpec& spec) {
  Range kept{std::min(calibrated.low, 0.0), std::max(calibrated.high, 0.0)};
  if (spec.symmetric) {
    kept.high = std::max(-kept.low, kept.high);
    kept.low = -kept.high;
  }
  Clipped outside;
  for (const HistogramSegment& segment : histogram_segments(observed)) {
    const auto count = static_cast<double>(segment.count);
    const HistogramSegment mirrored{-segment.to, -segment.from, segment.count};
    outside.low += count * part_above(mirrored, -kept.low);
    outside.high += count * part_above(segment, kept.high);
  }
  const double all = std::max(static_cast<double>(observed.count()), 1.0);
  return {outside.low / all, outside.high / all};
}

std::optional<Warning> full_range(const QuantPoint& point, const PointResult& result,
                                  std::span<const CalibratorInfo> calibrators) {
  // One that tries others, some of which clip, is free to take one that does not.
  const auto info = std::find_if(
      calibrators.begin(), calibrators.end(),
      [&](const CalibratorInfo& known) { return known.name == point.calibrator.name; });
  const Range observed = result.observed.at(0);
  const Range calibrated = result.calibrated.at(0);
  const bool keeps_all = std::min(calibrated.low, 0.0) <= observed.low &&
                         std::max(calibrated.high, 0.0) >= observed.high;
  if (info == calibrators.end() || !info->clips || !keeps_all || observed == Range{}) {
    return std::nullopt;
  }
  return Warning{"full_range", "value '" + point.name + "'",
                 "calibrator '" + result.calibrator + "' left nothing of " +
                     range_text(observed) + " outside"};
}

std::optional<Warning> dead_channels(const std::string& value,
                                     const ChannelStatistics& observed) {
  constexpr std::size_t kShown = 5;
  std::size_t dead = 0;
  std::string indices;
  for (std::size_t c = 0; c < observed.channels(); ++c) {
    if (observed.lows()[c] == 0 && observed.highs()[c] == 0) {
      if (dead < kShown) {
        indices += (dead == 0 ? "" : ", ") + std::to_string(c);
      }
      ++dead;
    }
  }
  if (dead == 0) {
    return std::nullopt;
  }
  return Warning{"dead_channels", "value '" + value + "'",
                 std::to_string(dead) + " of " + std::to_string(observed.channels()) +
                     " channels are always 0: " + indices + (dead > kShown ? ", ..." : "")};
}

std::optional<Warning> repeated_samples(std::vector<SampleDigests::Sample> samples) {
  std::stable_sort(samples.begin(), samples.end(),
                   [](const auto& a, const auto& b) { return a.digest < b.digest; });
  std::size_t repeated = 0;
  std::optional<std::pair<std::size_t, std::size_t>> first;  // a copy and its original
  for (std::size_t i = 1, original = 0; i < samples.size(); ++i) {
    if (samples[i].digest != samples[original].digest) {
      original = i;
      continue;
    }
    ++repeated;
    const std::pair copy(samples[i].index, samples[original].index);
    first = first ? std::min(*first, copy) : copy;
  }
  if (!first) {
    return std::nullopt;
  }
  return Warning{"repeated_samples", "samples",
                 std::to_string(repeated) + " of " + std::to_string(samples.size()) +
                     " are copies of earlier ones; the first is sample " +
                     std::to_string(first->first) + ", a copy of sample " +
                     std::to_string(first->second)};
}

namespace {

void add(std::optional<Warning> warning, CalibrationAudit& audit) {
  if (warning) {
    audit.warnings.push_back(std::move(*warning));
  }
}

}  // namespace

void audit_samples(const SampleDigests& samples, CalibrationAudit* audit) {
  if (audit == nullptr) {
    return;
  }
  std::vector<SampleDigests::Sample> observed = samples.observed();
  audit->samples = observed.size();
  audit->data = samples.sum();
  add(repeated_samples(std::move(observed)), *audit);
}

void audit_activation(const QuantPoint& point, const PointResult& result,
                      std::span<const CalibratorInfo> calibrators,
                      const ChannelStatistics* channels, CalibrationAudit* audit) {
  if (audit == nullptr) {
    return;
  }
  add(full_range(point, result, calibrators), *audit);
  if (channels != nullptr) {
    add(dead_channels(point.name, *channels), *audit);
  }
}

}  // namespace tare
