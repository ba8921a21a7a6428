// LayerNormalization of ONNX (Ba, Kiros and Hinton, "Layer Normalization", 2016). The variance
// is taken around the mean, in another pass over the row, as the difference of two large sums
// would lose what is small.
#include "execute/elements/dispatch.h"
#include "execute/operands.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Core>

namespace tare {
namespace {

struct Extents {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

using Row = Eigen::Map<Eigen::Array<float, 1, Eigen::Dynamic>>;
using ConstRow = Eigen::Map<const Eigen::Array<float, 1, Eigen::Dynamic>>;

/// Operands: x, scale, optional bias. Results: y, optional mean and 1 / deviation of each row.
void run(const Extents& extents, float epsilon, const Buffers& buffers) {
  const auto [rows, columns] = extents;
  const auto operand = [&](std::size_t i) {
    return i < buffers.inputs.size() ? input<float>(buffers, i) : nullptr;
  };
  const auto result = [&](std::size_t i) {
    return i < buffers.outputs.size() ? output<float>(buffers, i) : nullptr;
  };
  const ConstRow scale(operand(1), columns);
  for (std::int64_t r = 0; r < rows; ++r) {
    const ConstRow x(operand(0) + r * columns, columns);
    Row y(result(0) + r * columns, columns);
    const float mean = x.mean();
    y = x - mean;
    const float factor = 1 / std::sqrt(y.square().mean() + epsilon);
    y *= factor * scale;
    if (const float* bias = operand(2)) {
      y += ConstRow(bias, columns);
    }
    if (float* means = result(1)) {
      means[r] = mean;
    }
    if (float* factors = result(2)) {
      factors[r] = factor;
    }
  }
}

std::unique_ptr<Kernel> make_layer_norm(const KernelRequest& request) {
  const Shape& shape = required(request, 0).shape();
  const auto axis = static_cast<std::ptrdiff_t>(axis_of(request, -1, shape.size()));
  const Shape row(shape.begin() + axis, shape.end());
  expect_shape(required(request, 1), row);
  if (request.has_input(2)) {
    expect_shape(request.inputs[2], row);
  }
  Shape statistics = shape;
  std::fill(statistics.begin() + axis, statistics.end(), 1);
  bool f32 = all_f32(request);
  for (std::size_t i = 0; i < request.outputs.size(); ++i) {
    expect_shape(request.outputs[i], i == 0 ? shape : statistics);
    f32 = f32 && request.outputs[i].dtype() == DType::kFloat32;
  }
  if (!f32) {
    return nullptr;
  }
  const Extents extents{element_count(statistics), element_count(row)};
  const float epsilon = request.attributes().real("epsilon", 1e-5F);
  return make_kernel([=](const Buffers& buffers) { run(extents, epsilon, buffers); });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(layer_norm) {
  using namespace tare;
  return {.ops = {"LayerNormalization"}, .make = make_layer_norm, .in_place = true};
}
