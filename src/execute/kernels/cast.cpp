#include "execute/elements/elementwise.h"

namespace tare {
namespace {

/// The type of the result says what to cast to.
std::unique_ptr<Kernel> make_cast(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Operand& y = request.outputs[0];
  expect_shape(y, x.shape());
  return dispatch(AllTypes{}, x.dtype(), [&]<class From>(Tag<From>) {
    return dispatch(AllTypes{}, y.dtype(), [&]<class To>(Tag<To>) {
      return make_kernel([count = count_of(x)](const Buffers& b) {
        map_elements(input<From>(b, 0), output<To>(b, 0), count, [](auto value) {
          // f16 computes as f32, which has room for every integer that f16 can express.
          return convert<Compute<To>>(value);
        });
      });
    });
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(cast) {
  using namespace tare;
  return {.ops = {"Cast", "CastLike"}, .layout = follow, .make = make_cast};
}
