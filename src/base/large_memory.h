#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace tare {

struct ReleaseLargeMemory {
  std::size_t capacity = 0;  ///< bytes that were allocated
  void operator()(std::byte*) const;
};

/// Memory for a large array, at a multiple of 64: in huge pages where the system gives these to
/// those who ask, as the first write to each page takes as long as computing much of what is
/// written. For the same reason the process keeps some of what is released for the next array:
/// at most 256 MiB, half of what all arrays together ever took, and a 64th of
/// available_memory().
class LargeMemory {
 public:
  LargeMemory() = default;
  /// Throws std::bad_alloc.
  explicit LargeMemory(std::size_t bytes);

  std::byte* data() const { return data_.get(); }
  std::size_t size() const { return bytes_; }
  /// Whether all bytes were 0 at first; otherwise they were anything.
  bool was_zero() const { return was_zero_; }

 private:
  using Data = std::unique_ptr<std::byte[], ReleaseLargeMemory>;

  Data data_;
  std::size_t bytes_ = 0;
  bool was_zero_ = false;
};

/// So many elements of a plain type in such memory.
template <class T>
class LargeArray {
 public:
  LargeArray() = default;
  explicit LargeArray(std::size_t count) : memory_(count * sizeof(T)), count_(count) {}

  std::span<T> span() const { return {reinterpret_cast<T*>(memory_.data()), count_}; }

 private:
  LargeMemory memory_;
  std::size_t count_ = 0;
};

}  // namespace tare
