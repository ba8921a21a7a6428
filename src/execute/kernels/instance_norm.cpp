// InstanceNormalization of ONNX. Three passes over the values: means, then variances around
// them, which are accurate even where the mean is far from 0, then the result.
#include "execute/elements/dispatch.h"
#include "execute/operands.h"

#include <algorithm>
#include <cmath>

namespace tare {
namespace {

struct Extents {
  std::int64_t batch = 0;
  std::int64_t positions = 0;
  std::int64_t channels = 0;
};

/// Channels-last. Sums are in double: a picture has many positions.
void run(const Extents& extents, double epsilon, const Buffers& buffers) {
  const std::int64_t positions = extents.positions;
  const std::int64_t channels = extents.channels;
  const auto* x = input<float>(buffers, 0);
  const auto* scale = input<float>(buffers, 1);
  const auto* bias = input<float>(buffers, 2);
  auto* y = output<float>(buffers, 0);
  auto* mean = reinterpret_cast<double*>(buffers.scratch);
  double* variance = mean + channels;
  for (std::int64_t n = 0; n < extents.batch; ++n) {
    std::fill(mean, mean + 2 * channels, 0.0);
    const auto for_each_element = [&](auto&& f) {
      for (std::int64_t p = 0; p < positions; ++p) {
        for (std::int64_t c = 0; c < channels; ++c) {
          f(p * channels + c, c);
        }
      }
    };
    const auto count = static_cast<double>(positions);
    for_each_element([&](std::int64_t i, std::int64_t c) { mean[c] += x[i] / count; });
    for_each_element([&](std::int64_t i, std::int64_t c) {
      const double distance = x[i] - mean[c];
      variance[c] += distance * distance / count;
    });
    for (std::int64_t c = 0; c < channels; ++c) {
      variance[c] = scale[c] / std::sqrt(variance[c] + epsilon);
    }
    for_each_element([&](std::int64_t i, std::int64_t c) {
      y[i] = static_cast<float>((x[i] - mean[c]) * variance[c] + bias[c]);
    });
    x += positions * channels;
    y += positions * channels;
  }
}

std::unique_ptr<Kernel> make_instance_norm(const KernelRequest& request) {
  const Shape& shape = required(request, 0).shape();
  if (!all_f32(request) || shape.size() < 3) {
    return nullptr;
  }
  expect_shape(request.outputs[0], shape);
  expect_shape(required(request, 1), {shape[1]});
  expect_shape(required(request, 2), {shape[1]});
  const std::int64_t positions = element_count(Shape(shape.begin() + 2, shape.end()));
  const Extents extents{shape[0], positions, shape[1]};
  const double epsilon = request.attributes().real("epsilon", 1e-5F);
  return make_kernel(
      [extents, epsilon](const Buffers& buffers) { run(extents, epsilon, buffers); },
      static_cast<std::size_t>(2 * extents.channels) * sizeof(double));
}

}  // namespace
}  // namespace tare

TARE_KERNEL(instance_norm) {
  using namespace tare;
  return {.ops = {"InstanceNormalization"},
          .layout = [](const KernelRequest&) { return LayoutRule::kChannelsLast; },
          .make = make_instance_norm,
          .in_place = true};
}
