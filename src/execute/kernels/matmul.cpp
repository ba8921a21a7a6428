#include "execute/elements/dispatch.h"
#include "execute/operands.h"
#include "execute/products/matrix_batches.h"

#include <Eigen/Core>

namespace tare {
namespace {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <class T>
void multiply(const MatrixBatches& batches, const Buffers& buffers) {
  const T* a = input<T>(buffers, 0);
  const T* b = input<T>(buffers, 1);
  T* y = output<T>(buffers, 0);
  const auto& [rows, depth, columns, pairs, result] = batches;
  for (const auto& [at_a, at_b] : pairs) {
    Eigen::Map<Matrix<T>>(y, rows, columns).noalias() =
        Eigen::Map<const Matrix<T>>(a + at_a * rows * depth, rows, depth) *
        Eigen::Map<const Matrix<T>>(b + at_b * depth * columns, depth, columns);
    y += rows * columns;
  }
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  const Shape& a = required(request, 0).shape();
  const Shape& b = required(request, 1).shape();
  if (!uniform(request)) {
    return nullptr;
  }
  const MatrixBatches batches = make_matrix_batches(a, b);
  expect_shape(request.outputs[0], batches.result);
  using Multiplied =
      Types<float, double, std::int32_t, std::int64_t, std::uint32_t, std::uint64_t>;
  return dispatch(Multiplied{}, request.inputs[0].dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([batches](const Buffers& buffers) { multiply<T>(batches, buffers); });
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(matmul) {
  using namespace tare;
  return {.ops = {"MatMul"}, .make = make};
}
