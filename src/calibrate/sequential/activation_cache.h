#pragma once

#include "tare/execute.h"

#include "base/scratch_file.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace tare {

/// A value that is cached until later levels read it.
struct CachedActivation {
  ValueId value;
  TensorType type;  ///< with quant: storage values in float32, which are kept in that storage
  bool channels_last = false;
};

/// The cached activations of every run of the data, one record each. Records that exceed
/// `memory` bytes are spilled to a temporary file.
class ActivationCache {
 public:
  /// `file` is used where one is needed, whatever is in it; without it one is made.
  ActivationCache(std::vector<CachedActivation> values, std::size_t runs, std::size_t memory,
                  std::unique_ptr<ScratchFile> file = nullptr);

  /// What such records take.
  static std::size_t bytes(const std::vector<CachedActivation>& values, std::size_t runs);

  const std::vector<CachedActivation>& values() const { return values_; }
  /// May be called for different runs at once.
  void write(std::size_t run, std::size_t index, const TensorView&);
  void read(std::size_t run, std::size_t index, Tensor& result) const;
  /// The file for another cache, when this one is not read any more; null when it had none.
  std::unique_ptr<ScratchFile> take_file() { return std::move(file_); }

 private:
  std::vector<CachedActivation> values_;
  std::vector<std::size_t> offsets_;  ///< in a record
  std::size_t record_ = 0;
  std::size_t in_memory_ = 0;  ///< records
  std::unique_ptr<std::byte[]> memory_;
  std::unique_ptr<ScratchFile> file_;
};

}  // namespace tare
