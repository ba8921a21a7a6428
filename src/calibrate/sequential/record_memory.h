#pragma once

#include "base/large_memory.h"

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace tare {

/// Memory for records that are made and released in about the same order, by any thread: in
/// blocks of one size, so that a block whose records are all released is the next one of
/// another RecordMemory.
class RecordMemory {
 public:
  /// Bytes of a block: many huge pages, and far less than what few samples of a large network
  /// take.
  static constexpr std::size_t kBlock = std::size_t{32} << 20U;

  struct Record {
    std::byte* data = nullptr;
    std::size_t block = 0;
  };

  /// For records that take so many bytes together at most.
  explicit RecordMemory(std::size_t bytes);

  /// At a multiple of 64. Throws std::bad_alloc.
  Record take(std::size_t bytes);
  void release(const Record&);
  /// The bytes of a record that is not released yet. They stay as they are while these live.
  std::shared_ptr<std::byte[]> share(const Record&) const;

 private:
  struct Block {
    std::shared_ptr<const LargeMemory> memory;
    std::size_t used = 0;
    std::size_t records = 0;  ///< that are not released
  };

  std::size_t block_size_;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  std::vector<Block> blocks_;  ///< records are added to the last one
};

}  // namespace tare
