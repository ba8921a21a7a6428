// Gemm whose weights are computed, or whose factors and transposes dense.cpp does not take, by
// Eigen.
#include "tare/error.h"

#include "execute/elements/dispatch.h"
#include "execute/operands.h"

#include <algorithm>

#include <Eigen/Core>

namespace tare {
namespace {

using Eigen::Index;
template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct Gemm {
  Index rows = 0;
  Index depth = 0;
  Index columns = 0;
  bool transposed_a = false;
  bool transposed_b = false;
  float alpha = 1;
  float beta = 1;
  Index bias_row_stride = 0;  ///< 0 where C is broadcast
  Index bias_column_stride = 0;
};

/// Calls f with the matrix or its transpose.
template <class T, class F>
void with_operand(const std::byte* data, Index rows, Index columns, bool transposed, F&& f) {
  const auto* values = reinterpret_cast<const T*>(data);
  if (transposed) {
    f(Eigen::Map<const Matrix<T>>(values, columns, rows).transpose());
  } else {
    f(Eigen::Map<const Matrix<T>>(values, rows, columns));
  }
}

template <class T>
void run(const Gemm& gemm, const Buffers& buffers) {
  Eigen::Map<Matrix<T>> y(reinterpret_cast<T*>(buffers.outputs[0]), gemm.rows, gemm.columns);
  with_operand<T>(
      buffers.inputs[0], gemm.rows, gemm.depth, gemm.transposed_a, [&](const auto& a) {
        with_operand<T>(
            buffers.inputs[1], gemm.depth, gemm.columns, gemm.transposed_b,
            [&](const auto& b) { y.noalias() = static_cast<T>(gemm.alpha) * a * b; });
      });
  if (buffers.inputs.size() > 2 && buffers.inputs[2] != nullptr) {
    using Stride = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
    const Eigen::Map<const Matrix<T>, 0, Stride> bias(
        reinterpret_cast<const T*>(buffers.inputs[2]), gemm.rows, gemm.columns,
        Stride(gemm.bias_row_stride, gemm.bias_column_stride));
    y += static_cast<T>(gemm.beta) * bias;
  }
}

void check_fit(bool fits, const KernelRequest& request) {
  if (fits) {
    return;
  }
  std::string shapes;
  for (const Operand& input : request.inputs) {
    shapes += (shapes.empty() ? "" : ", ") + (input ? to_string(input.shape()) : "absent");
  }
  throw Error(ErrorCode::kInvalidModel, "", "matrices " + shapes + " do not fit");
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  const Attributes& attributes = request.attributes();
  const Shape& a = required(request, 0).shape();
  const Shape& b = required(request, 1).shape();
  if (!uniform(request, request.has_input(2) ? 3 : 2)) {
    return nullptr;
  }
  check_fit(a.size() == 2 && b.size() == 2, request);
  Gemm gemm{.transposed_a = attributes.integer("transA", 0) != 0,
            .transposed_b = attributes.integer("transB", 0) != 0,
            .alpha = attributes.real("alpha", 1),
            .beta = attributes.real("beta", 1)};
  gemm.rows = a[gemm.transposed_a ? 1 : 0];
  gemm.depth = a[gemm.transposed_a ? 0 : 1];
  gemm.columns = b[gemm.transposed_b ? 0 : 1];
  check_fit(b[gemm.transposed_b ? 1 : 0] == gemm.depth, request);
  if (request.has_input(2)) {
    Shape c = request.inputs[2].shape();
    check_fit(c.size() <= 2, request);
    c.insert(c.begin(), 2 - c.size(), 1);
    check_fit((c[0] == 1 || c[0] == gemm.rows) && (c[1] == 1 || c[1] == gemm.columns), request);
    gemm.bias_row_stride = c[0] == 1 ? 0 : c[1];
    gemm.bias_column_stride = c[1] == 1 ? 0 : 1;
  }
  expect_shape(request.outputs[0], {gemm.rows, gemm.columns});
  return dispatch(Types<float, double>{}, request.inputs[0].dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([gemm](const Buffers& buffers) { run<T>(gemm, buffers); });
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(gemm) {
  using namespace tare;
  return {.ops = {"Gemm"}, .make = make};
}
