// Conv whose steps, gaps or padding are beyond what oneDNN counts in: product after product.
#include "execute/elements/dispatch.h"
#include "execute/operands.h"
#include "execute/products/convolution_runs.h"

namespace tare {
namespace {

/// y += w x for the positions of one run in one sample. Channels-last.
void add_run(const ConvolutionRuns& c, const ConvolutionRuns::Run& run, const float* x,
             const float* weights, float* y) {
  for (std::int64_t j = 0; j < run.count; ++j) {
    const float* from =
        x + static_cast<std::size_t>(run.from + j * c.from_step) * c.groups * c.inputs;
    float* to = y + static_cast<std::size_t>(run.to + j) * c.groups * c.outputs;
    for (std::size_t k = 0; k < c.groups * c.outputs; ++k) {
      const float* channels = from + k / c.outputs * c.inputs;
      const float* w = weights + k * c.inputs * c.taps + run.tap;
      for (std::size_t i = 0; i < c.inputs; ++i) {
        to[k] += w[i * c.taps] * channels[i];
      }
    }
  }
}

void convolve(const ConvolutionRuns& c, const Buffers& buffers) {
  const auto* x = input<float>(buffers, 0);
  const auto* weights = input<float>(buffers, 1);
  const float* bias = buffers.inputs.size() > 2 ? input<float>(buffers, 2) : nullptr;
  auto* y = output<float>(buffers, 0);
  const std::size_t channels = c.groups * c.outputs;
  for (std::size_t n = 0; n < c.batch; ++n) {
    for (std::size_t i = 0; i < c.output_area * channels; ++i) {
      y[i] = bias != nullptr ? bias[i % channels] : 0;
    }
    for (const ConvolutionRuns::Run& run : c.runs) {
      add_run(c, run, x, weights, y);
    }
    x += c.input_area * c.groups * c.inputs;
    y += c.output_area * channels;
  }
}

std::unique_ptr<Kernel> make_conv_far(const KernelRequest& request) {
  if (!all_f32(request)) {
    return nullptr;
  }
  const Shape& weights = required(request, 1).shape();
  const ConvolutionRuns runs = convolution_runs(
      request.attributes(), required(request, 0).shape(), weights, request.outputs[0].shape());
  if (request.has_input(2)) {
    expect_shape(request.inputs[2], {weights[0]});
  }
  return make_kernel([runs](const Buffers& buffers) { convolve(runs, buffers); });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(conv_far) {
  using namespace tare;
  return {.ops = {"Conv"},
          .layout = [](const KernelRequest&) { return LayoutRule::kChannelsLast; },
          .make = make_conv_far};
}
