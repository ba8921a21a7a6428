// Figures of a quantized activation, from statistics of its values and counts of its storage
// values: levels used, entropy as effective bits (Shannon, "A Mathematical Theory of
// Communication", 1948), shares that saturate or vanish, and what every calibrator would have
// chosen with the error to expect of it. Nothing runs again for that; histograms are enough.
#include "compare/point_facts.h"

#include "calibrate/selection/error_behind.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <variant>

namespace tare {
namespace {

/// Few enough for a drawing, and thousands of points fit in a report.
constexpr std::size_t kBars = 128;

double share(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
}

/// The bins that hold anything, several to a bar.
HistogramReport histogram(const TensorStatistics& observed) {
  const std::vector<std::uint64_t> bins = observed.bins();
  const auto is_used = [](std::uint64_t count) { return count != 0; };
  const auto first = std::find_if(bins.begin(), bins.end(), is_used);
  if (first == bins.end()) {
    return {};
  }
  const auto begin = static_cast<std::size_t>(first - bins.begin());
  const auto end =
      bins.size() - static_cast<std::size_t>(std::find_if(bins.rbegin(), bins.rend(), is_used) -
                                             bins.rbegin());
  const std::size_t each = (end - begin + kBars - 1) / kBars;
  const std::size_t bars = (end - begin + each - 1) / each;
  const auto edge = [&](std::size_t bin) {
    return (static_cast<double>(bin) - TensorStatistics::kBins / 2.0) * observed.bin_width();
  };
  HistogramReport result{edge(begin), edge(begin + bars * each),
                         std::vector<std::uint64_t>(bars)};
  for (std::size_t bin = begin; bin < end; ++bin) {
    result.counts[(bin - begin) / each] += bins[bin];
  }
  return result;
}

/// Bits of information in a storage value.
double entropy(const std::vector<std::uint64_t>& counts, std::uint64_t all) {
  double bits = 0;
  for (const std::uint64_t count : counts) {
    if (count != 0) {
      bits -= share(count, all) * std::log2(share(count, all));
    }
  }
  return bits;
}

/// The magnitude that 99.9 % of the values do not exceed, up to the width of a bin.
double bulk(const TensorStatistics& observed) {
  std::vector<std::pair<double, std::uint64_t>> magnitudes;
  for (const HistogramSegment& part : histogram_segments(observed)) {
    magnitudes.emplace_back(std::max(-part.from, part.to), part.count);
  }
  std::sort(magnitudes.begin(), magnitudes.end());
  auto beyond = observed.count() / 1000;
  while (!magnitudes.empty() && magnitudes.back().second <= beyond) {
    beyond -= magnitudes.back().second;
    magnitudes.pop_back();
  }
  return magnitudes.empty() ? 0 : magnitudes.back().first;
}

void find_widest_channel(const ChannelStatistics& channels, PointReport& report) {
  if (channels.channels() < 2) {
    return;
  }
  std::vector<double> magnitudes;
  for (std::size_t c = 0; c < channels.channels(); ++c) {
    magnitudes.push_back(
        static_cast<double>(std::max(-channels.lows()[c], channels.highs()[c])));
  }
  const auto widest = std::max_element(magnitudes.begin(), magnitudes.end());
  report.widest_channel = static_cast<std::size_t>(widest - magnitudes.begin());
  const double largest = *widest;
  const auto middle = magnitudes.begin() + static_cast<std::ptrdiff_t>(magnitudes.size() / 2);
  std::nth_element(magnitudes.begin(), middle, magnitudes.end());
  if (*middle > 0) {
    report.channel_ratio = largest / *middle;
  }
}

/// Of all values, by parameters per tensor.
using SumOfSquares = std::function<double(const QuantParams&)>;

/// The range that a calibrator would choose. `behind`: see CalibrationPoint::error_behind.
Range range_of(const Calibrator& calibrator, const TensorStatistics& observed,
               const QuantSpec& spec, const PointReport& report, const SumOfSquares& behind) {
  if (behind) {
    static const Target kAny;
    const CalibratorAnswer answer = calibrator.answer(observed, spec,
                                                      {.name = report.name,
                                                       .node = report.node,
                                                       .op = "",
                                                       .target = kAny,
                                                       .error_behind = behind});
    if (const Range* range = std::get_if<Range>(&answer)) {
      return *range;
    }
  }
  return calibrator.choose(observed, spec);
}

std::vector<AlternativeCalibrator> alternatives(const TensorStatistics& observed,
                                                const PointReport& report,
                                                std::span<const CalibratorInfo> calibrators,
                                                const SumOfSquares& behind) {
  const QuantSpec spec = spec_of(report.params);
  const ExpectedError of_values(observed);
  std::vector<AlternativeCalibrator> result;
  for (const CalibratorInfo& info : calibrators) {
    if (!info.make || info.given) {
      continue;
    }
    const auto calibrator = info.make(CalibratorOptions({}));
    if (calibrator->observer() != nullptr) {
      continue;
    }
    const Range range = range_of(*calibrator, observed, spec, report, behind);
    const QuantParams params = to_quant_params({range}, spec);
    const double error = behind ? behind(params) : of_values.sum_of_squares(params);
    result.push_back(
        {std::string(info.name), range, error / static_cast<double>(observed.count())});
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const AlternativeCalibrator& a, const AlternativeCalibrator& b) {
                     return a.error < b.error;
                   });
  return result;
}

}  // namespace

QuantSpec spec_of(const QuantParams& params) {
  const StorageRange range = params.range();
  return {.storage = params.storage,
          .granularity = Granularity::kPerTensor,
          .axis = 0,
          .symmetric = params.zero_point[0] == (range.low + range.high + 1) / 2,
          .narrow_range = params.narrow_range,
          .power_of_two = false,
          .bits = params.bits};
}

void add_point_facts(const RoundedValues& values, std::span<const CalibratorInfo> calibrators,
                     const Graph& graph, ValueId value, PointReport& report) {
  const TensorStatistics& observed = values.observed.values;
  const QuantParams& params = report.params;
  const StorageRange range = params.range();
  report.observed = {observed.low(), observed.high()};
  report.levels = static_cast<std::size_t>(range.high - range.low + 1);
  report.levels_used =
      static_cast<std::size_t>(std::count_if(values.counts.begin(), values.counts.end(),
                                             [](std::uint64_t count) { return count != 0; }));
  std::uint64_t all = 0;
  for (const std::uint64_t count : values.counts) {
    all += count;
  }
  report.effective_bits = entropy(values.counts, all);
  report.saturated = {share(values.below, all), share(values.above, all)};
  report.zeros = share(observed.zeros(), all);
  report.lost = share(values.lost, all);
  report.bulk = bulk(observed);
  report.histogram = histogram(observed);
  report.error = values.error.deviation();
  find_widest_channel(values.observed.channels, report);
  for (std::size_t c = 0; c < params.scale.size(); ++c) {
    const auto scale = static_cast<double>(params.scale[c]);
    report.calibrated.low = std::min(
        report.calibrated.low, scale * static_cast<double>(range.low - params.zero_point[c]));
    report.calibrated.high = std::max(
        report.calibrated.high, scale * static_cast<double>(range.high - params.zero_point[c]));
  }
  if (!params.per_axis() && observed.count() > 0 && observed.nan() + observed.infinite() == 0) {
    SumOfSquares behind;
    if (auto expected = error_behind(graph, value, observed, values.visible)) {
      behind = std::move(expected->sum_of_squares);
      const double error = behind(params);
      report.error_behind = error / static_cast<double>(observed.count());
      report.sqnr_behind = error > 0 ? 10 * std::log10(expected->power / error)
                                     : std::numeric_limits<double>::infinity();
    }
    report.alternatives = alternatives(observed, report, calibrators, behind);
  }
}

}  // namespace tare
