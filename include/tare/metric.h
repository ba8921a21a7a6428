#pragma once

#include "tare/arithmetic.h"
#include "tare/process.h"
#include "tare/tensor.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace tare {

/// What both networks make of one sample: their results in the order of the graph's outputs,
/// each as it would be in a batch of one.
struct SampleResults {
  std::span<const Tensor> real;
  std::span<const Tensor>
      quantized;  ///< of the same shapes and types; storage values expressed
  std::optional<std::int64_t> label;
};

/// Measures the results of a quantized network. Threads have one each, see samples in any order
/// and are merged: the number must not depend on how.
class Metric {
 public:
  virtual ~Metric() = default;
  virtual void observe(const SampleResults&) = 0;
  /// Adds what another metric of the same kind saw.
  virtual void merge(const Metric&) = 0;
  /// Nothing where it is not defined: a requirement of it does not hold then.
  virtual std::optional<double> value() const = 0;
};

/// The mean of a number of each sample. Not defined where it is not for some sample, or not
/// finite. The sum is exact.
class MeanMetric final : public Metric {
 public:
  using OfSample = std::function<std::optional<double>(const SampleResults&)>;

  /// Calls it from any thread.
  explicit MeanMetric(OfSample of_sample) : of_sample_(std::move(of_sample)) {}
  void observe(const SampleResults&) override;
  void merge(const Metric&) override;
  std::optional<double> value() const override;

 private:
  OfSample of_sample_;
  ExactSum sum_;
  std::uint64_t samples_ = 0;
  bool is_defined_ = true;
};

struct MetricInfo {
  std::string_view name;  ///< in conditions and reports: words with dots between them
  std::string_view summary;
  std::function<std::unique_ptr<Metric>()> make;  ///< called from any thread
};

/// The only row of scores of a sample; nothing when the tensor is something else.
std::optional<std::span<const float>> scores_of(const Tensor&);
/// Index of the largest one, the first of several.
std::int64_t top_class(std::span<const float> scores);

}  // namespace tare

/// Entry point of a file in src/metrics/; the file name is `stem`. A shared object of such a
/// file, compiled with TARE_PLUGIN defined, is a plug-in, see TARE_PART.
#define TARE_METRIC(stem) TARE_PART(MetricInfo, tare_metric_##stem)
