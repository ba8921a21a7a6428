#include "execute/convolution_runs.h"
#include "execute/dispatch.h"
#include "execute/integer_operand.h"
#include "execute/operands.h"

#include <optional>

namespace tare {
namespace {

/// The operands' positions differ between the two operators.
struct Roles {
  std::size_t x, x_zero, w, w_zero;
};

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  const bool requantizes = request.node->op == "QLinearConv";
  const Roles roles = requantizes ? Roles{0, 2, 3, 5} : Roles{0, 2, 1, 3};
  const Requantization::Operands scales{1, 4, 6, 7};
  constexpr std::size_t kBias = 8;
  const bool has_bias = requantizes && request.has_input(kBias);
  const Operand& w = required(request, roles.w);
  if (!Centered::takes(request, roles.x, roles.x_zero) ||
      !Centered::takes(request, roles.w, roles.w_zero) ||
      (requantizes && !Requantization::takes(request, scales)) ||
      (!requantizes && request.outputs[0].dtype() != DType::kInt32) ||
      (has_bias && request.inputs[kBias].dtype() != DType::kInt32)) {
    return nullptr;
  }
  const ConvolutionRuns runs =
      convolution_runs(request.attributes(), request.inputs[roles.x].shape(), w.shape(),
                       request.outputs[0].shape());
  const std::size_t outputs = runs.groups * runs.outputs;
  const Centered x(request, roles.x, roles.x_zero, {});
  const Centered weight(request, roles.w, roles.w_zero, {outputs, runs.inputs * runs.taps});
  std::optional<Requantization> requantize;
  if (requantizes) {
    requantize.emplace(request, scales, Channels{}, Channels{outputs, runs.output_area});
  }
  if (has_bias) {
    expect_count(request.inputs[kBias], outputs);
  }
  const std::size_t sums = requantizes ? count_of(request.outputs[0]) : 0;
  return make_kernel(
      [=](const Buffers& b) {
        auto* x_values = reinterpret_cast<std::int32_t*>(b.scratch);
        auto* weights = x_values + x.count();
        x(b, x_values);
        weight(b, weights);
        auto* y = requantizes ? weights + weight.count() : output<std::int32_t>(b, 0);
        convolve(runs, x_values, weights, has_bias ? input<std::int32_t>(b, kBias) : nullptr, y,
                 [](std::int32_t sum, std::int32_t u, std::int32_t v) { return sum + u * v; });
        if (requantize) {
          (*requantize)(b, y);
        }
      },
      (x.count() + weight.count() + sums) * sizeof(std::int32_t));
}

}  // namespace
}  // namespace tare

TARE_KERNEL(conv_integer) {
  return {.ops = {"ConvInteger", "QLinearConv"}, .make = tare::make};
}
