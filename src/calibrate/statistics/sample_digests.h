#pragma once

#include "tare/dataset.h"
#include "tare/statistics.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tare {

/// Samples that remember a digest of each one that is read through them: 8 bytes for every
/// sample and input.
class SampleDigests final : public Dataset {
 public:
  explicit SampleDigests(const Dataset&);

  std::size_t size() const override { return data_.size(); }
  const std::vector<DatasetInput>& inputs() const override { return data_.inputs(); }
  bool has_several_shapes() const override { return data_.has_several_shapes(); }
  Tensor read(const std::string& input, std::size_t first, std::size_t count) const override;
  std::optional<std::vector<std::int64_t>> labels() const override { return data_.labels(); }

  struct Sample {
    std::uint64_t digest = 0;  ///< of all inputs that were read
    std::size_t index = 0;
  };
  /// The samples of which something was read, in ascending order.
  std::vector<Sample> observed() const;
  /// Adds the samples that other processes read.
  void share(Communicator&);
  /// Of their digests, modulo 2^64: the same in any order.
  std::uint64_t sum() const;

 private:
  const Dataset& data_;
  /// By input, then by sample; 0 where nothing was read. Several threads may read one sample.
  mutable std::map<std::string, std::vector<std::atomic<std::uint64_t>>> digests_;
};

}  // namespace tare
