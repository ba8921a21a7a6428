#pragma once

#include "tare/error.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tare::fuzz {

using Bytes = std::span<const std::byte>;
using File = std::vector<std::byte>;

/// What is tried with any bytes.
struct FuzzTarget {
  std::string_view name;
  /// Files that are as they should be, to begin with.
  std::vector<File> (*seeds)();
  /// Ends, or throws an Error that is no bug of ours. All else is a finding.
  void (*run)(Bytes);
  /// A file with other contents in the same format, where changing any bytes would mostly break
  /// it; may be null.
  File (*change)(Bytes, std::uint32_t seed) = nullptr;
};

// Each in the file of its name.
FuzzTarget fuzz_config();
FuzzTarget fuzz_mutants();
FuzzTarget fuzz_onnx();
FuzzTarget fuzz_quantize();
FuzzTarget fuzz_sample_files();
FuzzTarget fuzz_samples();
FuzzTarget fuzz_statistics();
FuzzTarget fuzz_table();
FuzzTarget fuzz_text();
FuzzTarget fuzz_tflite();

/// What must never happen did.
struct Finding : std::logic_error {
  using std::logic_error::logic_error;
};

inline void require(bool holds, const std::string& otherwise) {
  if (!holds) {
    throw Finding(otherwise);
  }
}

/// The result of a call that has no reason to refuse.
template <class Call>
auto must(std::string_view what, const Call& call) {
  try {
    return call();
  } catch (const Error& error) {
    std::string text(what);
    text += ": ";
    throw Finding(text + error.what());
  }
}

/// Whether the bytes were taken. Throws a Finding, or whatever the target threw.
inline bool is_taken(const FuzzTarget& target, Bytes bytes) {
  try {
    target.run(bytes);
    return true;
  } catch (const Error& error) {
    require(error.code() != ErrorCode::kInternal, error.what());
    return false;
  }
}

inline File file_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline std::string text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace tare::fuzz
