// MatMulInteger of ONNX, in plain loops over rows and exact as long as int32 holds the sums.
// Operands are brought to int32 without their zero points first.
#include "execute/operands.h"
#include "execute/products/integer_operand.h"
#include "execute/products/matrix_batches.h"

#include <algorithm>

namespace tare {
namespace {

/// y = a b, exact as long as int32 holds the sums.
void multiply(const MatrixBatches& batches, const std::int32_t* a, const std::int32_t* b,
              std::int32_t* y) {
  const std::int64_t rows = batches.rows;
  const std::int64_t depth = batches.depth;
  const std::int64_t columns = batches.columns;
  for (const auto& [at_a, at_b] : batches.pairs) {
    for (std::int64_t row = 0; row < rows; ++row, y += columns) {
      std::fill_n(y, columns, 0);
      const std::int32_t* left = a + (at_a * rows + row) * depth;
      for (std::int64_t k = 0; k < depth; ++k) {
        const std::int32_t factor = left[k];
        const std::int32_t* right = b + (at_b * depth + k) * columns;
#pragma omp simd
        for (std::int64_t i = 0; i < columns; ++i) {
          y[i] += factor * right[i];
        }
      }
    }
  }
}

std::unique_ptr<Kernel> make_matmul_integer(const KernelRequest& request) {
  if (!Centered::takes(request, 0, 2) || !Centered::takes(request, 1, 3) ||
      request.outputs[0].dtype() != DType::kInt32) {
    return nullptr;
  }
  const MatrixBatches batches =
      make_matrix_batches(request.inputs[0].shape(), request.inputs[1].shape());
  const auto rows = static_cast<std::size_t>(batches.rows);
  const auto columns = static_cast<std::size_t>(batches.columns);
  expect_count(request.outputs[0], batches.pairs.size() * rows * columns);
  // Zero points may be one per row of a and one per column of b.
  const Centered a(request, 0, 2, {rows, static_cast<std::size_t>(batches.depth)});
  const Centered b(request, 1, 3, {columns, 1});
  return make_kernel(
      [=](const Buffers& buffers) {
        auto* left = reinterpret_cast<std::int32_t*>(buffers.scratch);
        auto* right = left + a.count();
        a(buffers, left);
        b(buffers, right);
        multiply(batches, left, right, reinterpret_cast<std::int32_t*>(buffers.outputs[0]));
      },
      (a.count() + b.count()) * sizeof(std::int32_t));
}

}  // namespace
}  // namespace tare

TARE_KERNEL(matmul_integer) {
  return {.ops = {"MatMulInteger"}, .make = tare::make_matmul_integer};
}
