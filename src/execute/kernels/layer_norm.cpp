#include "tare/error.h"

#include "execute/kernel.h"

#include <cmath>

#include <Eigen/Core>

namespace tare {
namespace {

struct Extents {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

template <class T>
using Row = Eigen::Map<Eigen::Array<T, 1, Eigen::Dynamic>>;
template <class T>
using ConstRow = Eigen::Map<const Eigen::Array<T, 1, Eigen::Dynamic>>;

/// Operands: x, scale, optional bias. Results: y, optional mean and 1 / deviation of each row.
template <class T>
void run(const Extents& extents, float epsilon, const Buffers& buffers) {
  const auto [rows, columns] = extents;
  const auto operand = [&](std::size_t i) {
    return i < buffers.inputs.size() ? reinterpret_cast<const T*>(buffers.inputs[i]) : nullptr;
  };
  const auto result = [&](std::size_t i) {
    return i < buffers.outputs.size() ? reinterpret_cast<T*>(buffers.outputs[i]) : nullptr;
  };
  const ConstRow<T> scale(operand(1), columns);
  for (std::int64_t r = 0; r < rows; ++r) {
    const ConstRow<T> x(operand(0) + r * columns, columns);
    Row<T> y(result(0) + r * columns, columns);
    const T mean = x.mean();
    y = x - mean;
    const T factor = 1 / std::sqrt(y.square().mean() + static_cast<T>(epsilon));
    y *= factor * scale;
    if (const T* bias = operand(2)) {
      y += ConstRow<T>(bias, columns);
    }
    if (T* means = result(1)) {
      means[r] = mean;
    }
    if (T* factors = result(2)) {
      factors[r] = factor;
    }
  }
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  const Operand& input = request.inputs[0];
  const Shape& shape = input.shape();
  const std::size_t axis =
      normalized_axis(request.attributes().integer("axis", -1), shape.size());
  const Shape row(shape.begin() + static_cast<std::ptrdiff_t>(axis), shape.end());
  for (std::size_t i = 1; i < request.inputs.size(); ++i) {
    if (!request.has_input(i)) {
      continue;
    }
    if (request.inputs[i].dtype() != input.dtype()) {
      return nullptr;
    }
    if (element_count(request.inputs[i].shape()) != element_count(row)) {
      throw Error(
          ErrorCode::kInvalidModel, "",
          "operand " + std::to_string(i) + " is " + to_string(request.inputs[i].shape()))
          .expected(to_string(row));
    }
  }
  const std::int64_t columns = element_count(row);
  const Extents extents{columns == 0 ? 0 : element_count(shape) / columns, columns};
  const float epsilon = request.attributes().real("epsilon", 1e-5F);
  switch (input.dtype()) {
    case DType::kFloat32:
      return make_kernel(
          [=](const Buffers& buffers) { run<float>(extents, epsilon, buffers); });
    case DType::kFloat64:
      return make_kernel(
          [=](const Buffers& buffers) { run<double>(extents, epsilon, buffers); });
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace tare

TARE_KERNEL(layer_norm) {
  using namespace tare;
  return {.ops = {"LayerNormalization"}, .make = make, .in_place = true};
}
