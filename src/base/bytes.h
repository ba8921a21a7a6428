#pragma once

#include "tare/error.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tare {

// Values as bytes of this machine, for files that only it reads again and for processes that
// work together. Whoever reads asks for what was written, in the same order.

class ByteWriter {
 public:
  template <class T>
  void add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  /// Behind their number.
  template <class T>
  void add_all(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    add(std::uint64_t{values.size()});
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }
  void add_text(std::string_view text) { add_all(std::span(text)); }

  std::string take() { return std::exchange(bytes_, {}); }

 private:
  std::string bytes_;
};

/// Throws Error(kInvalidData) where the bytes end before what is asked for.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  T get() {
    T value{};
    std::memcpy(&value, next(sizeof(T)), sizeof(T));
    return value;
  }
  template <class T>
  std::vector<T> get_all() {
    const std::size_t count = counted(sizeof(T));
    std::vector<T> values(count);
    if (count > 0) {
      std::memcpy(values.data(), next(count * sizeof(T)), count * sizeof(T));
    }
    return values;
  }
  std::string get_text() {
    const std::size_t count = counted(1);
    return {next(count), count};
  }
  /// A number of things that take so many bytes each, at least.
  std::size_t counted(std::size_t bytes) {
    const auto count = get<std::uint64_t>();
    if (count > bytes_.size() / bytes) {
      throw cut_off();
    }
    return count;
  }
  bool is_at_end() const { return bytes_.empty(); }

 private:
  static Error cut_off() { return {ErrorCode::kInvalidData, "", "bytes are missing"}; }

  const char* next(std::size_t count) {
    if (count > bytes_.size()) {
      throw cut_off();
    }
    const char* const result = bytes_.data();
    bytes_.remove_prefix(count);
    return result;
  }

  std::string_view bytes_;
};

}  // namespace tare
