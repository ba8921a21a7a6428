#pragma once

#include "tare/report.h"
#include "tare/tensor.h"

#include "compare/deviation.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tare {

struct Measured;

/// What is remembered of the results of both networks.
class OutputSums {
 public:
  OutputSums(const std::optional<std::vector<std::int64_t>>& labels, std::size_t batch)
      : labels_(&labels), batch_(batch) {}

  /// The results of one run: those of the float network, then those of the quantized one.
  void observe(std::span<const Tensor> results, std::size_t first_sample);
  void merge(const OutputSums&);
  void finish(Measured&) const;

 private:
  struct Output {
    DeviationSums error;
    bool has_scores = false;
    std::uint64_t agreeing = 0;
  };

  void classify(const Tensor& real, const Tensor& quantized, std::size_t first_sample,
                Output& output, std::vector<SampleReport>& samples);
  void offer(const SampleReport&);

  const std::optional<std::vector<std::int64_t>>* labels_;
  std::size_t batch_;
  std::size_t samples_ = 0;
  std::vector<Output> outputs_;
  std::uint64_t real_hits_ = 0;
  std::uint64_t quantized_hits_ = 0;
  std::vector<SampleReport> worst_;  ///< sorted, the worst first
};

}  // namespace tare
