#include "execute/kernel.h"
#include "execute/matrix_batches.h"

#include <Eigen/Core>

namespace tare {
namespace {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <class T>
void multiply(const MatrixBatches& batches, const Buffers& buffers) {
  const auto* a = reinterpret_cast<const T*>(buffers.inputs[0]);
  const auto* b = reinterpret_cast<const T*>(buffers.inputs[1]);
  auto* y = reinterpret_cast<T*>(buffers.outputs[0]);
  const auto& [rows, depth, columns, pairs] = batches;
  for (const auto& [at_a, at_b] : pairs) {
    Eigen::Map<Matrix<T>>(y, rows, columns).noalias() =
        Eigen::Map<const Matrix<T>>(a + at_a * rows * depth, rows, depth) *
        Eigen::Map<const Matrix<T>>(b + at_b * depth * columns, depth, columns);
    y += rows * columns;
  }
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  if (request.inputs[0].dtype() != request.inputs[1].dtype()) {
    return nullptr;
  }
  const MatrixBatches batches = make_matrix_batches(request.inputs[0].shape(), request.inputs[1].shape());
  const auto kernel = [&]<class T>(T) {
    return make_kernel([batches](const Buffers& buffers) { multiply<T>(batches, buffers); });
  };
  switch (request.inputs[0].dtype()) {
    case DType::kFloat32:
      return kernel(float{});
    case DType::kFloat64:
      return kernel(double{});
    case DType::kInt32:
      return kernel(std::int32_t{});
    case DType::kInt64:
      return kernel(std::int64_t{});
    case DType::kUint32:
      return kernel(std::uint32_t{});
    case DType::kUint64:
      return kernel(std::uint64_t{});
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace tare

TARE_KERNEL(matmul) {
  using namespace tare;
  return {.ops = {"MatMul"}, .make = make};
}
