#include "execute/elements/wider_types.h"
#include "execute/operands.h"
#include "execute/products/matrix_batches.h"
#include "execute/products/matrix_product.h"

namespace tare {
namespace {

template <class T>
void multiply_all(const MatrixBatches& batches, const Buffers& buffers) {
  const T* a = input<T>(buffers, 0);
  const T* b = input<T>(buffers, 1);
  T* y = output<T>(buffers, 0);
  const auto& [rows, depth, columns, pairs, result] = batches;
  for (const auto& [at_a, at_b] : pairs) {
    multiply(a + at_a * rows * depth, b + at_b * depth * columns, y, {rows, depth, columns});
    y += rows * columns;
  }
}

std::unique_ptr<Kernel> make_matmul(const KernelRequest& request) {
  const Shape& a = required(request, 0).shape();
  const Shape& b = required(request, 1).shape();
  if (!uniform(request)) {
    return nullptr;
  }
  const MatrixBatches batches = make_matrix_batches(a, b);
  expect_shape(request.outputs[0], batches.result);
  return dispatch(WideNumbers{}, request.inputs[0].dtype(), [&]<class T>(Tag<T>) {
    // Sums of products wrap around, so signed and unsigned ones have the same bits.
    using Multiplied = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
    return make_kernel(
        [batches](const Buffers& buffers) { multiply_all<Multiplied>(batches, buffers); });
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(matmul) {
  using namespace tare;
  return {.ops = {"MatMul"},
          .make = [](const KernelRequest& request) { return make_wide(request, make_matmul); }};
}
