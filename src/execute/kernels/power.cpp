#include "execute/elements/elementwise.h"

#include <cmath>

namespace tare {
namespace {

/// Wraps around like repeated multiplication does.
template <class T, class E>
T integer_power(T base, E exponent) {
  if (exponent < 0) {
    const bool odd = exponent % 2 != 0;
    return base == 1 || (base == T(-1) && !odd) ? T(1) : base == T(-1) ? T(-1) : T(0);
  }
  std::uint64_t result = 1;
  auto factor = static_cast<std::uint64_t>(base);
  for (auto bits = static_cast<std::uint64_t>(exponent); bits != 0; bits >>= 1U) {
    result *= (bits & 1U) != 0 ? factor : 1;
    factor *= factor;
  }
  return static_cast<T>(result);
}

struct Power {
  template <class A, class B>
  A operator()(A a, B b) const {
    if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
      return integer_power(a, b);
    } else if constexpr (std::is_floating_point_v<A>) {
      return b == B(2) ? a * a : std::pow(a, static_cast<A>(b));
    } else {
      return convert<A>(std::pow(static_cast<double>(a), static_cast<double>(b)));
    }
  }
};

bool is_two(const Operand& exponent) {
  return exponent.constant != nullptr && exponent.constant->size() == 1 &&
         exponent.constant->to_double()[0] == 2.0;
}

std::unique_ptr<Kernel> make_power(const KernelRequest& request) {
  const Operand& base = required(request, 0);
  const Operand& exponent = required(request, 1);
  const Operand& result = request.outputs[0];
  if (!uniform(request, 1)) {
    return nullptr;
  }
  if (is_two(exponent) && base.dtype() == DType::kFloat32 && result.shape() == base.shape()) {
    return make_kernel([count = count_of(base)](const Buffers& b) {
      map_elements(input<float>(b, 0), output<float>(b, 0), count,
                   [](float x) { return x * x; });
    });
  }
  using Bases = Types<float, double, std::int64_t>;
  return dispatch(Bases{}, base.dtype(), [&]<class A>(Tag<A>) {
    return dispatch(WideNumbers{}, exponent.dtype(), [&]<class B>(Tag<B>) {
      return make_kernel(
          [map = BroadcastMap<A, B, A, Power>(result, base, exponent, {})](const Buffers& b) {
            map(input<A>(b, 0), input<B>(b, 1), output<A>(b, 0));
          });
    });
  });
}

/// Integers to the power of integers wrap around; to the power of floats they are computed as
/// floats, which saturate.
std::unique_ptr<Kernel> make_any(const KernelRequest& request) {
  const bool saturates = is_float(required(request, 1).dtype());
  return make_wide(request, make_power, saturates ? Narrowing::kSaturate : Narrowing::kWrap);
}

}  // namespace
}  // namespace tare

TARE_KERNEL(power) {
  using namespace tare;
  return {.ops = {"Pow"}, .layout = follow, .make = make_any, .in_place = true};
}
