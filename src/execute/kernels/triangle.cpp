#include "tare/error.h"

#include "execute/elements/dispatch.h"
#include "execute/operands.h"

#include <algorithm>

namespace tare {
namespace {

struct Matrices {
  std::int64_t count;
  std::int64_t rows;
  std::int64_t columns;
};

Matrices matrices_of(const Operand& operand) {
  const Shape& shape = operand.shape();
  if (shape.size() < 2) {
    throw Error(ErrorCode::kInvalidModel, "", "an operand has shape " + to_string(shape))
        .expected("rank 2 or more");
  }
  const std::int64_t rows = shape[shape.size() - 2];
  const std::int64_t columns = shape.back();
  const std::int64_t area = rows * columns;
  return {area == 0 ? 0 : element_count(shape) / area, rows, columns};
}

/// The part of each matrix on and above (or below) a diagonal, zeros elsewhere.
std::unique_ptr<Kernel> make_trilu(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  expect_shape(request.outputs[0], x.shape());
  if (!uniform(request, 1)) {
    return nullptr;
  }
  const Matrices m = matrices_of(x);
  const std::int64_t k = request.has_input(1) ? request.integers(1).at(0) : 0;
  const std::int64_t diagonal = std::clamp(k, -m.rows, m.columns);
  const bool upper = request.attributes().integer("upper", 1) != 0;
  return with_cell(x.dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([=](const Buffers& b) {
      const T* from = input<T>(b, 0);
      T* to = output<T>(b, 0);
      for (std::int64_t row = 0; row < m.count * m.rows; ++row) {
        const std::int64_t edge = row % m.rows + diagonal;
        for (std::int64_t column = 0; column < m.columns; ++column) {
          const bool kept = upper ? column >= edge : column <= edge;
          *to++ = kept ? *from : T(0);
          ++from;
        }
      }
    });
  });
}

/// Ones on a diagonal.
std::unique_ptr<Kernel> make_eye(const KernelRequest& request) {
  const Operand& y = request.outputs[0];
  expect_shape(y, required(request, 0).shape());
  const Matrices m = matrices_of(y);
  const std::int64_t k = request.attributes().integer("k", 0);
  return dispatch(Numbers{}, y.dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([=](const Buffers& b) {
      T* to = output<T>(b, 0);
      for (std::int64_t row = 0; row < m.count * m.rows; ++row) {
        for (std::int64_t column = 0; column < m.columns; ++column) {
          *to++ = convert<T>(column - row % m.rows == k ? 1.0F : 0.0F);
        }
      }
    });
  });
}

std::unique_ptr<Kernel> make_triangle(const KernelRequest& request) {
  return request.node->op == "Trilu" ? make_trilu(request) : make_eye(request);
}

}  // namespace
}  // namespace tare

TARE_KERNEL(triangle) {
  return {.ops = {"Trilu", "EyeLike"}, .make = tare::make_triangle};
}
