// LRN of ONNX: each element over a power of the squares of its neighbours in channels. Channels
// last, where these lie side by side. Elements times `size` additions and one power each.
#include "tare/error.h"

#include "execute/elements/dispatch.h"
#include "execute/operands.h"

#include <algorithm>
#include <cmath>

namespace tare {
namespace {

/// y = x / (bias + alpha / size * (sum of squares over `size` neighbouring channels)) ^ beta
struct Lrn {
  std::int64_t positions = 0;
  std::int64_t channels = 0;
  std::int64_t size = 1;
  float alpha = 0;
  float beta = 0;
  float bias = 0;
};

void run(const Lrn& lrn, const Buffers& buffers) {
  const auto* x = input<float>(buffers, 0);
  auto* y = output<float>(buffers, 0);
  const std::int64_t before = (lrn.size - 1) / 2;
  const std::int64_t after = lrn.size - 1 - before;
  for (std::int64_t p = 0; p < lrn.positions; ++p) {
    for (std::int64_t c = 0; c < lrn.channels; ++c) {
      float sum = 0;
      const std::int64_t last = std::min(lrn.channels - 1, c + after);
      for (std::int64_t i = std::max<std::int64_t>(0, c - before); i <= last; ++i) {
        sum += x[i] * x[i];
      }
      const float base = lrn.bias + lrn.alpha / static_cast<float>(lrn.size) * sum;
      y[c] = x[c] / std::pow(base, lrn.beta);
    }
    x += lrn.channels;
    y += lrn.channels;
  }
}

std::unique_ptr<Kernel> make_lrn(const KernelRequest& request) {
  const Shape& shape = required(request, 0).shape();
  if (!all_f32(request) || shape.size() < 3) {
    return nullptr;
  }
  expect_shape(request.outputs[0], shape);
  const Attributes& attributes = request.attributes();
  Lrn lrn{.positions = shape[1] == 0 ? 0 : element_count(shape) / shape[1],
          .channels = shape[1],
          .size = attributes.integer("size"),
          .alpha = attributes.real("alpha", 1e-4F),
          .beta = attributes.real("beta", 0.75F),
          .bias = attributes.real("bias", 1)};
  if (lrn.size < 1) {
    throw Error(ErrorCode::kInvalidModel, "", "attribute 'size' is " + std::to_string(lrn.size))
        .expected("1 or more");
  }
  return make_kernel([lrn](const Buffers& buffers) { run(lrn, buffers); });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(lrn) {
  using namespace tare;
  return {.ops = {"LRN"},
          .layout = [](const KernelRequest&) { return LayoutRule::kChannelsLast; },
          .make = make_lrn};
}
