#include "execute/elements/elementwise.h"

#include <limits>

namespace tare {
namespace {

template <class T>
Compute<T> bound(const Buffers& buffers, std::size_t i, Compute<T> fallback) {
  return i < buffers.inputs.size() && buffers.inputs[i] != nullptr
             ? convert<Compute<T>>(*input<T>(buffers, i))
             : fallback;
}

std::unique_ptr<Kernel> make_clip(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  expect_shape(request.outputs[0], x.shape());
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    if (request.has_input(i)) {
      expect_count(request.inputs[i], 1);
      if (request.inputs[i].dtype() != x.dtype()) {
        return nullptr;
      }
    }
  }
  if (request.outputs[0].dtype() != x.dtype()) {
    return nullptr;
  }
  return dispatch(Numbers{}, x.dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([count = count_of(x)](const Buffers& b) {
      using C = Compute<T>;
      using Limits = std::numeric_limits<C>;
      constexpr C kLowest = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
      constexpr C kHighest = Limits::has_infinity ? Limits::infinity() : Limits::max();
      const C low = bound<T>(b, 1, kLowest);
      const C high = bound<T>(b, 2, kHighest);
      map_elements(input<T>(b, 0), output<T>(b, 0), count, [=](C value) {
        const C above = value < low ? low : value;
        return above > high ? high : above;
      });
    });
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(clip) {
  using namespace tare;
  return {.ops = {"Clip"}, .layout = follow, .make = make_clip, .in_place = true};
}
