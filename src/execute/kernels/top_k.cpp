// TopK of ONNX by a partial sort of positions: n log k comparisons for each column of n. Ties
// go to the lower position, as the definition wants it.
#include "execute/elements/dispatch.h"
#include "execute/operands.h"

#include <algorithm>
#include <numeric>

namespace tare {
namespace {

/// The order of the results: better first, NaN before all numbers, then by position.
template <class T>
struct Better {
  const T* column;
  std::size_t stride;
  bool largest;

  bool operator()(std::int64_t i, std::int64_t j) const {
    const auto a = convert<Compute<T>>(column[static_cast<std::size_t>(i) * stride]);
    const auto b = convert<Compute<T>>(column[static_cast<std::size_t>(j) * stride]);
    const bool a_is_nan = a != a;
    const bool b_is_nan = b != b;
    if (a_is_nan || b_is_nan) {
      return a_is_nan != b_is_nan ? a_is_nan : i < j;
    }
    return a == b ? i < j : (a > b) == largest;
  }
};

/// k is what the shape of the result says.
std::unique_ptr<Kernel> make_top_k(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Operand& values = request.outputs.at(0);
  const Operand& positions = request.outputs.at(1);
  if (!uniform(request, 1) || positions.dtype() != DType::kInt64) {
    return nullptr;
  }
  const std::size_t axis = axis_of(request, -1, x.shape().size());
  const bool largest = request.attributes().integer("largest", 1) != 0;
  const AxisView view = view_axis(x, axis);
  Shape shape = x.shape();
  shape[axis] = std::min(shape[axis], values.shape().size() > axis ? values.shape()[axis] : 0);
  expect_shape(values, shape);
  expect_shape(positions, shape);
  const auto k = static_cast<std::size_t>(shape[axis]);
  return dispatch(Numbers{}, x.dtype(), [&]<class T>(Tag<T>) {
    return make_kernel(
        [=](const Buffers& b) {
          auto* order = reinterpret_cast<std::int64_t*>(b.scratch);
          for (std::size_t i = 0; i < view.outer * view.inner; ++i) {
            const std::size_t outer = i / view.inner;
            const std::size_t inner = i % view.inner;
            const T* column = input<T>(b, 0) + outer * view.extent * view.inner + inner;
            std::iota(order, order + view.extent, 0);
            std::partial_sort(order, order + k, order + view.extent,
                              Better<T>{column, view.inner, largest});
            for (std::size_t j = 0; j < k; ++j) {
              const std::size_t to = (outer * k + j) * view.inner + inner;
              output<T>(b, 0)[to] = column[static_cast<std::size_t>(order[j]) * view.inner];
              output<std::int64_t>(b, 1)[to] = order[j];
            }
          }
        },
        view.extent * sizeof(std::int64_t));
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(top_k) {
  return {.ops = {"TopK"}, .make = tare::make_top_k};
}
