#pragma once

#include "io/hdf5.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tare::hdf5 {

/// What chunks of a dataset went through when they were stored: gzip, shuffle or nothing. It is
/// undone here, so that threads need not wait for each other: the library does so under its
/// lock.
class Filters {
 public:
  /// Nothing where there are others. Elements have so many bytes in the file. Hold the lock of
  /// the library.
  static std::optional<Filters> of(const Handle& properties, std::size_t element_bytes);

  /// A chunk of `size` bytes as it was before it was stored; bits of `skipped` are filters that
  /// it did not go through. Throws Error(kInvalidData) where the bytes are no such chunk.
  std::unique_ptr<std::byte[]> decode(std::span<const std::byte> stored, std::uint32_t skipped,
                                      std::size_t size) const;

 private:
  struct Filter {
    bool is_shuffle = false;        ///< or gzip
    std::size_t element_bytes = 1;  ///< that were taken apart
  };
  std::vector<Filter> filters_;  ///< in the order in which they were applied
};

}  // namespace tare::hdf5
