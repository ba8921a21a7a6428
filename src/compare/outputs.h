#pragma once

#include "tare/node.h"
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

/// For each of the first `results` outputs of the graph, whether it is one row of scores for
/// each sample. What has the shape of an input is taken for its reconstruction instead.
std::vector<bool> find_scores(const Graph&, std::size_t results, std::size_t batch);

/// What is remembered of the results of both networks.
class OutputSums {
 public:
  /// `scores` as find_scores() has them.
  OutputSums(const std::vector<bool>& scores,
             const std::optional<std::vector<std::int64_t>>& labels, std::size_t batch)
      : labels_(&labels), batch_(batch), outputs_(scores.size()) {
    for (std::size_t i = 0; i < scores.size(); ++i) {
      outputs_[i].has_scores = scores[i];
    }
  }

  /// The results of one run: those of the float network, then those of the quantized one.
  void observe(std::span<const Tensor> results, std::size_t first_sample);
  void merge(const OutputSums&);
  /// For another process, and what one there has.
  void write(ByteWriter&) const;
  void merge(ByteReader&);
  void finish(Measured&) const;

 private:
  struct Output {
    DeviationSums error;
    bool has_scores = false;
    std::uint64_t agreeing = 0;
  };

  /// Compares the largest scores of each sample.
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
