#pragma once

#include "execute/kernel.h"
#include "graph/arithmetic/half.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>

namespace tare {

/// Storage of one f16 element; computes as float.
struct Half {
  std::uint16_t bits = 0;
  Half() = default;
  explicit Half(float value) : bits(float_to_half(value)) {}
  explicit operator float() const { return half_to_float(bits); }
};

/// The same of one bf16 element.
struct Bfloat16 {
  std::uint16_t bits = 0;
  Bfloat16() = default;
  explicit Bfloat16(float value) : bits(float_to_bfloat16(value)) {}
  explicit operator float() const { return bfloat16_to_float(bits); }
};

template <>
struct DTypeOf<Half> {
  static constexpr DType kValue = DType::kFloat16;
};
template <>
struct DTypeOf<Bfloat16> {
  static constexpr DType kValue = DType::kBfloat16;
};

template <class T>
inline constexpr bool kHas16BitsOfFloat =
    std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>;

/// What elements of type T are computed in.
template <class T>
using Compute = std::conditional_t<kHas16BitsOfFloat<T>, float, T>;

template <class T>
struct Tag {
  using Type = T;
};

template <class... T>
struct Types {};

using Floats = Types<float, double, Half>;
using Integers = Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                       std::uint32_t, std::int64_t, std::uint64_t>;
using Indices = Types<std::int32_t, std::int64_t>;

template <class... A, class... B>
Types<A..., B...> join(Types<A...>, Types<B...>);

using Numbers = decltype(join(Floats{}, Integers{}));
/// Where elements of bf16 are computed with, they are widened to f32 (wider_types.h): few
/// models have them, and each type that a kernel takes is compiled for it.
using AllTypes = decltype(join(Numbers{}, Types<bool, Bfloat16>{}));

/// f(Tag<T>) for the T of the list that has `dtype`; null when none has.
template <class... T, class F>
std::unique_ptr<Kernel> dispatch(Types<T...>, DType dtype, F&& f) {
  std::unique_ptr<Kernel> kernel;
  static_cast<void>(((dtype == DTypeOf<T>::kValue && (kernel = f(Tag<T>{}), true)) || ...));
  return kernel;
}

/// f(Tag<T>) for the cell T as wide as an element of `dtype`.
template <class F>
auto with_cell(DType dtype, F&& f) {
  switch (size_of(dtype)) {
    case 1:
      return f(Tag<std::uint8_t>{});
    case 2:
      return f(Tag<std::uint16_t>{});
    case 4:
      return f(Tag<std::uint32_t>{});
    default:
      return f(Tag<std::uint64_t>{});
  }
}

template <class T>
const T* input(const Buffers& buffers, std::size_t i) {
  return reinterpret_cast<const T*>(buffers.inputs[i]);
}

template <class T>
T* output(const Buffers& buffers, std::size_t i) {
  return reinterpret_cast<T*>(buffers.outputs[i]);
}

/// Conversion between element types the way Cast does it: toward zero, saturating where a float
/// does not fit an integer (NaN gives 0), wrapping between integers.
template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<From, To>) {
    return value;
  } else if constexpr (kHas16BitsOfFloat<From>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (kHas16BitsOfFloat<To>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    constexpr auto kLow = std::numeric_limits<To>::min();
    constexpr auto kHigh = std::numeric_limits<To>::max();
    // The bounds as floats may round up, hence >= and <=.
    return value != value                      ? To(0)
           : value <= static_cast<From>(kLow)  ? kLow
           : value >= static_cast<From>(kHigh) ? kHigh
                                               : static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace tare
