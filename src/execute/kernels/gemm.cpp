// Gemm whose weights are computed, or whose factors and transposes dense.cpp does not take, by
// Eigen.
#include "tare/error.h"

#include "execute/elements/dispatch.h"
#include "execute/operands.h"
#include "execute/products/matrix_product.h"

namespace tare {
namespace {

struct Gemm {
  MatrixExtents extents{};
  bool transposed_a = false;
  bool transposed_b = false;
  float alpha = 1;
  float beta = 1;
  std::int64_t bias_row_stride = 0;  ///< 0 where C is broadcast
  std::int64_t bias_column_stride = 0;

  /// Elements of transposed operands, which are copied the right way round.
  std::size_t copied() const {
    const auto [rows, depth, columns] = extents;
    return static_cast<std::size_t>((transposed_a ? rows * depth : 0) +
                                    (transposed_b ? depth * columns : 0));
  }
};

template <class T>
void run(const Gemm& gemm, const Buffers& buffers) {
  const auto [rows, depth, columns] = gemm.extents;
  T* copies = reinterpret_cast<T*>(buffers.scratch);
  const T* a = input<T>(buffers, 0);
  const T* b = input<T>(buffers, 1);
  T* y = output<T>(buffers, 0);
  if (gemm.transposed_a) {
    transpose(a, depth, rows, copies);
    a = copies;
    copies += rows * depth;
  }
  if (gemm.transposed_b) {
    transpose(b, columns, depth, copies);
    b = copies;
  }
  multiply(a, b, y, gemm.extents);
  const auto alpha = static_cast<T>(gemm.alpha);
  const auto beta = static_cast<T>(gemm.beta);
  const bool has_bias = buffers.inputs.size() > 2 && buffers.inputs[2] != nullptr;
  const T* bias = has_bias ? input<T>(buffers, 2) : nullptr;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j, ++y) {
      const T scaled = alpha * *y;
      *y = bias == nullptr
               ? scaled
               : scaled + beta * bias[i * gemm.bias_row_stride + j * gemm.bias_column_stride];
    }
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

std::unique_ptr<Kernel> make_gemm(const KernelRequest& request) {
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
  gemm.extents.rows = a[gemm.transposed_a ? 1 : 0];
  gemm.extents.depth = a[gemm.transposed_a ? 0 : 1];
  gemm.extents.columns = b[gemm.transposed_b ? 0 : 1];
  check_fit(b[gemm.transposed_b ? 1 : 0] == gemm.extents.depth, request);
  if (request.has_input(2)) {
    Shape c = request.inputs[2].shape();
    check_fit(c.size() <= 2, request);
    c.insert(c.begin(), 2 - c.size(), 1);
    check_fit(
        (c[0] == 1 || c[0] == gemm.extents.rows) && (c[1] == 1 || c[1] == gemm.extents.columns),
        request);
    gemm.bias_row_stride = c[0] == 1 ? 0 : c[1];
    gemm.bias_column_stride = c[1] == 1 ? 0 : 1;
  }
  expect_shape(request.outputs[0], {gemm.extents.rows, gemm.extents.columns});
  return dispatch(Types<float, double>{}, request.inputs[0].dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([gemm](const Buffers& buffers) { run<T>(gemm, buffers); },
                       gemm.copied() * sizeof(T));
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(gemm) {
  using namespace tare;
  return {.ops = {"Gemm"}, .make = make_gemm};
}
