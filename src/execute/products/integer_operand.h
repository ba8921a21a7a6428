#pragma once

#include "execute/kernel.h"

#include <cstdint>

namespace tare {

/// Which of a row of parameters an element uses: parameter (i / block) % count for element i.
struct Channels {
  std::size_t count = 1;
  std::size_t block = 1;
  std::size_t of(std::size_t element) const { return element / block % count; }
};

/// An 8-bit operand less its zero point, as int32.
class Centered {
 public:
  /// `zero` is the number of the operand with the zero points, which may be absent. Throws
  /// Error(kInvalidModel) unless it holds one, or one per channel.
  Centered(const KernelRequest&, std::size_t values, std::size_t zero, const Channels&);
  /// Whether the types are ones it can read.
  static bool takes(const KernelRequest&, std::size_t values, std::size_t zero);

  std::size_t count() const { return count_; }
  void operator()(const Buffers&, std::int32_t* result) const;

 private:
  std::size_t values_;
  std::size_t zero_;
  bool has_zero_;
  bool is_signed_;
  std::size_t count_;
  Channels channels_;
};

}  // namespace tare
