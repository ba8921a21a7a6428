#pragma once

#include "tare/arithmetic.h"
#include "tare/config.h"
#include "tare/process.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tare {

/// The smallest and the largest of some numbers.
struct MinMax {
  float low = std::numeric_limits<float>::infinity();  ///< above `high`: there was none
  float high = -std::numeric_limits<float>::infinity();
};

/// Statistics of one tensor over all samples, with a histogram: fixed size, mergeable, and
/// independent of order and grouping (merging those of any split gives those of the whole, bit
/// for bit). Histogram bins are anchored at zero and have width 2^exponent; when a value lies
/// outside, neighbouring bins merge pairwise and the exponent grows.
class TensorStatistics {
 public:
  static constexpr std::size_t kBins = 4096;  ///< half of them below zero

  TensorStatistics() = default;
  /// Those that count no values in bins, which takes most of the time, and no zeros. They are
  /// merged with their like, and cannot be stored.
  static TensorStatistics without_histogram();

  /// The values of one sample. NaN and infinities are counted apart and enter nothing else.
  void observe(std::span<const float> sample);
  /// The same where all values are finite and their extremes known.
  void observe(std::span<const float> sample, MinMax);
  void merge(const TensorStatistics&);

  double low() const { return low_; }    ///< exact smallest finite value; 0 when there was none
  double high() const { return high_; }  ///< exact largest
  std::uint64_t count() const { return count_; }  ///< finite values
  std::uint64_t zeros() const { return zeros_; }
  std::uint64_t nan() const { return nan_; }
  std::uint64_t infinite() const { return infinite_; }
  std::uint64_t observed() const { return count_ + nan_ + infinite_; }  ///< values of any kind
  std::uint64_t samples() const { return samples_; }  ///< those with a finite value
  /// Means over the samples of the smallest and the largest finite value of each; 0 when there
  /// was none.
  double mean_low() const;
  double mean_high() const;
  /// Width of one bin: a power of two; 1 when there are none.
  double bin_width() const;
  /// Number of non-zero values v with bin_width() * (i - kBins/2) <= v < bin_width() * (i + 1 -
  /// kBins/2). Exact zeros are not in any bin. Empty when there was no other value. Made anew
  /// by each call.
  std::vector<std::uint64_t> bins() const;
  bool has_bins() const { return has_counts() || !few_.empty(); }

  /// All that is remembered, to be stored and read back.
  struct Fields {
    float low = 0;
    float high = 0;
    std::uint64_t count = 0;
    std::uint64_t zeros = 0;
    std::uint64_t nan = 0;
    std::uint64_t infinite = 0;
    std::uint64_t samples = 0;
    ExactSum lows;  ///< sum over the samples of the smallest value of each
    ExactSum highs;
    int exponent = 0;                 ///< bins are 2^exponent wide
    std::vector<std::uint64_t> bins;  ///< kBins, or empty

    friend bool operator==(const Fields&, const Fields&) = default;
  };
  Fields fields() const;
  /// Throws Error(kInvalidData) when no tensor has such statistics.
  static TensorStatistics of(Fields);

  friend bool operator==(const TensorStatistics& a, const TensorStatistics& b) {
    return a.fields() == b.fields();
  }

 private:
  /// No wider than the number of values asks for: of most points there are few thousand.
  using Counts = std::variant<std::vector<std::uint16_t>, std::vector<std::uint32_t>,
                              std::vector<std::uint64_t>>;

  MinMax observe_part(std::span<const float> values);
  void count_finite(std::span<const float> values, MinMax);
  void count_sample(MinMax);
  /// Makes bins at least 2^exponent wide.
  void hold(int exponent);
  int exponent() const;
  void count_few();
  bool has_counts() const;
  /// Adds the bins of values that lie inside; count() has been raised by them already.
  void count_inside(std::span<const float>);

  bool has_histogram_ = true;
  float low_ = 0;
  float high_ = 0;
  std::uint64_t count_ = 0;
  std::uint64_t zeros_ = 0;
  std::uint64_t nan_ = 0;
  std::uint64_t infinite_ = 0;
  std::uint64_t samples_ = 0;
  ExactSum lows_;
  ExactSum highs_;
  int exponent_ = 0;
  Counts bins_;
  /// Non-zero values until they are many enough for bins, which take more room than they do.
  /// Networks have thousands of points, many of few values.
  std::vector<float> few_;
};

/// Values between `from` and `to`, taken as evenly spread; as equal when the two are.
struct HistogramSegment {
  double from = 0;
  double to = 0;
  std::uint64_t count = 0;  ///< not 0

  double width() const { return to - from; }
  double middle() const { return (from + to) / 2; }
  friend bool operator==(const HistogramSegment&, const HistogramSegment&) = default;
};

/// The bins that hold anything, from the lowest to the highest and cut to the observed range,
/// so that a single value stays one. Exact zeros are not among them.
std::vector<HistogramSegment> histogram_segments(const TensorStatistics&);

/// The observed range, widened to hold 0.
Range range_with_zero(const TensorStatistics&);

/// The expected error of fake-quantizing values, given their statistics, whose bins are taken
/// as evenly spread: rounding where they are inside of the range, saturation where they are
/// not. The calibrator `mse` minimizes it (Nagel et al., A White Paper on Neural Network
/// Quantization, 2021, section 3.1). Each evaluation takes a step for each edge of a filled
/// bin.
class ExpectedError {
 public:
  explicit ExpectedError(const TensorStatistics&);

  /// The sum of the squared errors of all values; parameters per tensor.
  double sum_of_squares(const QuantParams&) const;

 private:
  struct Place {
    double x = 0;
    double weight = 0;  ///< density below it less density above, or number of values
  };

  void change(double x, double weight);

  // A density that is constant between places and changes at them, and equal values.
  std::vector<Place> places_;
  std::vector<Place> points_;
};

/// What a range costs: any number, or infinity for a range that is no candidate.
using RangeCost = std::function<double(const Range&)>;

/// Looks for the range of least cost that holds 0 and lies within the observed range and 0.
/// Starts with all of that; then both ends move inwards to one distance from zero; then, if
/// there are two sides and the storage is not symmetric, each end alone. An end takes
/// `steps_per_octave` places between a distance and its half, down to the width of a bin, and
/// finer places around the best of them. Of ranges that cost the same the first one, which is
/// the widest, stays. With 8 steps an end takes about 120 evaluations, with 32 about 370.
Range least_cost_range(const TensorStatistics& observed, const QuantSpec& spec,
                       int steps_per_octave, const RangeCost& cost);

/// What is calibrated: for calibrators that treat layers differently.
struct CalibrationPoint {
  std::string_view name;  ///< of the point
  std::string_view node;  ///< that computes the value or multiplies by the weight; empty: input
  std::string_view op;    ///< of that node
  bool is_weight = false;  ///< a channel of a constant, and no activation
  const Target& target;
  /// The expected squared error of what an activation function makes of the observed values, or
  /// a Relu behind a sum shows of them, if only that reads them, by parameters per tensor;
  /// empty otherwise.
  std::function<double(const QuantParams&)> error_behind{};
};

/// Parameters per tensor. The scale is finite and above 0, the zero point within the storage
/// range; both keep to the QuantSpec (symmetric: the middle, power_of_two).
struct ScaleAndZeroPoint {
  float scale = 1;
  std::int32_t zero_point = 0;
};

/// A range, which to_quant_params() makes parameters of, or these themselves; of weights a
/// range.
using CalibratorAnswer = std::variant<Range, ScaleAndZeroPoint>;

/// Observes the values of one tensor themselves, for a calibrator that needs more than
/// statistics. Threads have one each, see samples in any order and are merged: the range must
/// not depend on how.
class Observer {
 public:
  virtual ~Observer() = default;
  /// The elements of one sample, in any order. They may hold NaN and infinities; then the range
  /// does not matter, since that is an error.
  virtual void observe(std::span<const float> sample) = 0;
  /// Adds what another observer of the same calibrator saw.
  virtual void merge(const Observer&) = 0;
  /// As Calibrator::choose() and Calibrator::answer().
  virtual Range choose(const TensorStatistics&, const QuantSpec&) const = 0;
  virtual CalibratorAnswer answer(const TensorStatistics& observed, const QuantSpec& spec,
                                  const CalibrationPoint&) const {
    return choose(observed, spec);
  }
};

/// Chooses ranges from statistics. Settings belong to the instance; one choose() call does not
/// depend on others.
class Calibrator {
 public:
  virtual ~Calibrator() = default;
  /// Not null: it observes the values themselves and chooses, instead of choose() below. Such a
  /// calibrator needs the data; statistics do not serve it.
  virtual std::unique_ptr<Observer> observer() const { return nullptr; }
  /// The interval of real values that the storage type shall span; need not hold 0, must be
  /// finite, and within the observed range and 0 unless the user asked for more.
  virtual Range choose(const TensorStatistics&, const QuantSpec&) const = 0;
  /// What is asked for each point; choose() unless the calibrator wants to know more, or to
  /// choose the parameters itself. Reports still ask choose() what it would take elsewhere, or
  /// this with a target without a name where there is CalibrationPoint::error_behind.
  virtual CalibratorAnswer answer(const TensorStatistics& observed, const QuantSpec& spec,
                                  const CalibrationPoint&) const {
    return choose(observed, spec);
  }
};

/// Typed reads of a calibrator's options.
class CalibratorOptions {
 public:
  explicit CalibratorOptions(const std::map<std::string, double>& values) : values_(&values) {}
  double number(const std::string& key, double fallback) const;

 private:
  const std::map<std::string, double>* values_;
};

struct CalibratorInfo {
  std::string_view name;
  std::string_view summary;
  std::vector<std::string> options;  ///< names it accepts; others are errors
  /// Called from any thread, and so are the calibrators that it makes.
  std::function<std::unique_ptr<const Calibrator>(const CalibratorOptions&)> make;
  /// Instead of `make`: calibrators whose ranges are tried on data, see calibrate(). Where
  /// there are statistics only, it is the first of them.
  std::vector<CalibratorChoice> candidates{};
  bool given = false;      ///< its ranges are the user's own, to be used to the last bit
  bool keeps_all = false;  ///< its ranges hold every value, that of a mask too
  /// Its ranges are the observed extremes, so it needs no histogram.
  bool takes_extremes = false;
  bool clips = false;  ///< it is there to leave rare values outside: keeping all is unexpected
};

/// Throws Error(kInvalidConfig) with every calibrator of the configuration that is unknown or
/// has options that it does not take.
void check_calibrators(const Config&, std::span<const CalibratorInfo>);

}  // namespace tare

/// Entry point of a file in calibrators/; the file name is `stem`. A shared object of such a
/// file, compiled with TARE_PLUGIN defined, is a plug-in, see TARE_PART.
#define TARE_CALIBRATOR(stem) TARE_PART(CalibratorInfo, tare_calibrator_##stem)
