// MeanVarianceNormalization of ONNX: each element less the mean along some axes, over the
// deviation along these. Three passes: the variance is taken around the mean, as the difference
// of two large sums would lose what is small.
#include "execute/elements/dispatch.h"
#include "execute/elements/nested_loops.h"
#include "execute/operands.h"

#include <algorithm>
#include <cmath>

namespace tare {
namespace {

/// f(element, its group) for all elements in memory order.
template <class F>
void for_each_element(const NestedLoops<2>& loops, F&& f) {
  const auto row = static_cast<std::int64_t>(loops.row_length());
  loops.for_each_row([&](const auto& at) {
    for (std::int64_t i = 0; i < row; ++i) {
      f(at[0] + i * loops.row_stride(0), at[1] + i * loops.row_stride(1));
    }
  });
}

void run(const NestedLoops<2>& loops, std::size_t groups, double each, const Buffers& buffers) {
  const auto* x = input<float>(buffers, 0);
  auto* y = output<float>(buffers, 0);
  auto* means = reinterpret_cast<double*>(buffers.scratch);
  auto* deviations = means + groups;
  std::fill_n(means, 2 * groups, 0.0);
  for_each_element(loops, [&](std::int64_t i, std::int64_t group) {
    means[group] += static_cast<double>(x[i]) / each;
  });
  for_each_element(loops, [&](std::int64_t i, std::int64_t group) {
    const double away = static_cast<double>(x[i]) - means[group];
    deviations[group] += away * away / each;
  });
  // The specification's definition as a function adds this.
  constexpr double kLeast = 1e-9;
  std::transform(deviations, deviations + groups, deviations,
                 [](double variance) { return std::sqrt(variance) + kLeast; });
  for_each_element(loops, [&](std::int64_t i, std::int64_t group) {
    y[i] = static_cast<float>((static_cast<double>(x[i]) - means[group]) / deviations[group]);
  });
}

std::unique_ptr<Kernel> make_mean_variance_normalization(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  if (!all_f32(request)) {
    return nullptr;
  }
  expect_shape(request.outputs[0], x.shape());
  const std::size_t rank = x.shape().size();
  std::vector<bool> is_averaged(rank, false);
  for (const std::int64_t axis : request.attributes().integers("axes", {0, 2, 3})) {
    is_averaged.at(normalized_axis(axis, rank)) = true;
  }
  Strides strides(rank, 0);
  std::int64_t groups = 1;
  for (std::size_t axis = rank; axis-- > 0;) {
    if (!is_averaged[axis]) {
      strides[axis] = groups;
      groups *= x.shape()[axis];
    }
  }
  const auto count = static_cast<std::size_t>(groups);
  const double each = static_cast<double>(count_of(x)) / static_cast<double>(groups);
  return make_kernel([loops = NestedLoops<2>(x.shape(), {x.strides(), strides}), count,
                      each](const Buffers& buffers) { run(loops, count, each, buffers); },
                     2 * count * sizeof(double));
}

}  // namespace
}  // namespace tare

TARE_KERNEL(mean_variance_normalization) {
  return {.ops = {"MeanVarianceNormalization"}, .make = tare::make_mean_variance_normalization};
}
