#pragma once

#include "fuzz/target.h"

#include <array>
#include <cstdint>

namespace tare::fuzz {

/// Bytes as a source of choices; zeros follow them.
class Choices {
 public:
  explicit Choices(Bytes bytes) : bytes_(bytes) {}

  bool any_left() const { return !bytes_.empty(); }

  std::uint8_t byte() {
    if (bytes_.empty()) {
      return 0;
    }
    const auto value = static_cast<std::uint8_t>(bytes_.front());
    bytes_ = bytes_.subspan(1);
    return value;
  }
  /// From 0 up to but without `end`, which is at most 256.
  std::int64_t below(std::int64_t end) { return byte() % end; }
  /// Both ends included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + below(high - low + 1);
  }
  bool coin() { return byte() % 2 == 1; }
  /// True once in `count` times.
  bool rarely(std::int64_t count) { return below(count) == count - 1; }
  template <class T>
  const T& of(std::span<const T> all) {
    return all[static_cast<std::size_t>(below(static_cast<std::int64_t>(all.size())))];
  }
  template <class T>
  const T& of(const std::vector<T>& all) {
    return of(std::span<const T>(all));
  }

 private:
  Bytes bytes_;
};

}  // namespace tare::fuzz
