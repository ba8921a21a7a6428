#pragma once

#include "tare/dataset.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tare {

/// What one file holds: of each input as many samples. The shape of a DatasetInput is that of
/// all of them, or of the largest.
struct FileContents {
  std::size_t samples = 1;
  std::vector<DatasetInput> inputs;
  bool several_shapes = false;  ///< then they are read one by one
};

/// A format in which samples come. Files are looked at once, and read in any order from any
/// thread, at best without what is not asked for. Throws Error(kIo) and Error(kInvalidData)
/// with the path.
class SampleFormat {
 public:
  virtual ~SampleFormat() = default;
  /// Reads what is before the samples, at most.
  virtual FileContents look_at(const std::filesystem::path&) const = 0;
  /// Samples [first, first + count) of an input as a tensor of shape [count, ...shape]. Their
  /// values may be NaN.
  virtual Tensor read(const std::filesystem::path&, const std::string& input, std::size_t first,
                      std::size_t count) const = 0;
  /// Of each of its samples.
  virtual std::optional<std::vector<std::int64_t>> labels(const std::filesystem::path&) const {
    return std::nullopt;
  }
};

}  // namespace tare
