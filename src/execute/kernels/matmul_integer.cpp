#include "execute/integer_operand.h"
#include "execute/matrix_batches.h"
#include "execute/operands.h"

#include <algorithm>
#include <optional>

namespace tare {
namespace {

/// y = a b, exact as long as int32 holds the sums.
void multiply(const MatrixBatches& batches, const std::int32_t* a, const std::int32_t* b,
              std::int32_t* y) {
  const auto& [rows, depth, columns, pairs, result] = batches;
  for (const auto& [at_a, at_b] : pairs) {
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

/// The operands' positions differ between the two operators.
struct Roles {
  std::size_t a, a_zero, b, b_zero;
};

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  const bool requantizes = request.node->op == "QLinearMatMul";
  const Roles roles = requantizes ? Roles{0, 2, 3, 5} : Roles{0, 2, 1, 3};
  const Requantization::Operands scales{1, 4, 6, 7};
  if (!Centered::takes(request, roles.a, roles.a_zero) ||
      !Centered::takes(request, roles.b, roles.b_zero) ||
      (requantizes ? !Requantization::takes(request, scales)
                   : request.outputs[0].dtype() != DType::kInt32)) {
    return nullptr;
  }
  const MatrixBatches batches =
      make_matrix_batches(request.inputs[roles.a].shape(), request.inputs[roles.b].shape());
  const auto rows = static_cast<std::size_t>(batches.rows);
  const auto columns = static_cast<std::size_t>(batches.columns);
  const std::size_t count = batches.pairs.size() * rows * columns;
  expect_count(request.outputs[0], count);
  // Parameters may be one per row of a and one per column of b.
  const Centered a(request, roles.a, roles.a_zero,
                   {rows, static_cast<std::size_t>(batches.depth)});
  const Centered b(request, roles.b, roles.b_zero, {columns, 1});
  std::optional<Requantization> requantize;
  if (requantizes) {
    requantize.emplace(request, scales, Channels{rows, columns}, Channels{columns, 1});
  }
  const std::size_t sums = requantizes ? count : 0;
  return make_kernel(
      [=](const Buffers& buffers) {
        auto* left = reinterpret_cast<std::int32_t*>(buffers.scratch);
        auto* right = left + a.count();
        a(buffers, left);
        b(buffers, right);
        auto* y = requantizes ? right + b.count()
                              : reinterpret_cast<std::int32_t*>(buffers.outputs[0]);
        multiply(batches, left, right, y);
        if (requantize) {
          (*requantize)(buffers, y);
        }
      },
      (a.count() + b.count() + sums) * sizeof(std::int32_t));
}

}  // namespace
}  // namespace tare

TARE_KERNEL(matmul_integer) {
  return {.ops = {"MatMulInteger", "QLinearMatMul"}, .make = tare::make};
}
