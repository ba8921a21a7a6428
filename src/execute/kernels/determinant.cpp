// Det of ONNX: determinants of square matrices by elimination with partial pivoting, in double.
// Cubic in the extent of a matrix.
#include "execute/elements/dispatch.h"
#include "execute/elements/wider_types.h"
#include "execute/operands.h"

#include <Eigen/LU>

namespace tare {
namespace {

template <class T>
void run(std::size_t matrices, std::int64_t extent, const Buffers& buffers) {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  for (std::size_t i = 0; i < matrices; ++i) {
    const auto size = static_cast<std::size_t>(extent * extent);
    const Eigen::Map<const Matrix> matrix(input<T>(buffers, 0) + i * size, extent, extent);
    const Eigen::MatrixXd exact = matrix.template cast<double>();
    output<T>(buffers, 0)[i] = static_cast<T>(exact.determinant());
  }
}

std::unique_ptr<Kernel> make_determinant(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Shape& shape = x.shape();
  if (!uniform(request) || shape.size() < 2 || shape.back() != shape[shape.size() - 2]) {
    return nullptr;
  }
  expect_shape(request.outputs[0], Shape(shape.begin(), shape.end() - 2));
  const std::size_t matrices = count_of(request.outputs[0]);
  return dispatch(WideFloats{}, x.dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([matrices, extent = shape.back()](const Buffers& buffers) {
      run<T>(matrices, extent, buffers);
    });
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(determinant) {
  using namespace tare;
  return {.ops = {"Det"}, .make = [](const KernelRequest& request) {
            return make_wide(request, make_determinant);
          }};
}
