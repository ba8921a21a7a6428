#pragma once

#include "tare/dataset.h"
#include "tare/report.h"

#include "base/bytes.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tare {

/// Shows the results of both networks to metrics.
class MetricSums {
 public:
  /// Labels and metrics have to outlive it.
  MetricSums(std::span<const MetricInfo>,
             const std::optional<std::vector<std::int64_t>>& labels, std::size_t batch,
             const std::optional<TokenInterface>& tokens);

  /// The inputs of one run and its results: those of the float network, then those of the
  /// quantized one.
  void observe(std::span<const Tensor> inputs, std::span<const Tensor> results,
               std::size_t first_sample);
  void merge(const MetricSums&);
  /// Whether all can tell other processes what they saw.
  bool can_tell() const;
  /// That, and what those of another process told.
  void write(ByteWriter&) const;
  void merge(ByteReader&);
  std::vector<MetricReport> reports() const;

 private:
  std::span<const MetricInfo> infos_;
  const std::optional<std::vector<std::int64_t>>* labels_;
  std::size_t batch_;
  std::optional<TokenInterface> tokens_;
  std::vector<std::unique_ptr<Metric>> metrics_;
};

}  // namespace tare
