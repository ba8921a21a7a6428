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

/// Whether the node's operand `parameter` (a scale or zero point) holds one value or one per
/// channel; the channels to use then. Throws Error(kInvalidModel) for any other number.
Channels parameter_channels(const KernelRequest&, std::size_t parameter, const Channels&);

/// An 8-bit operand less its zero point, as int32.
class Centered {
 public:
  /// `zero` is the number of the operand with the zero points, which may be absent.
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

/// From products of two centered operands a and b to the storage values of the result:
/// clip(round(sum * (scale_a * scale_b / scale_y)) + zero_y).
class Requantization {
 public:
  struct Operands {
    std::size_t scale_a, scale_b, scale_y, zero_y;
  };
  Requantization(const KernelRequest&, const Operands&, const Channels& a, const Channels& b);
  static bool takes(const KernelRequest&, const Operands&);

  void operator()(const Buffers&, const std::int32_t* sums) const;

 private:
  Operands operands_;
  Channels a_;
  Channels b_;
  bool is_signed_;
  std::size_t count_;
};

}  // namespace tare
