// Conv, Gemm and MatMul of a simulated graph, which holds storage values in float32: on
// processors with VNNI as products of bytes, which take a quarter of the time. Sums that
// float32 holds are the same, larger ones are rounded more rarely than by the float kernel,
// which this leaves the rest to.
//
// Cost: one pass over the operand, which becomes bytes. That pays where each of its numbers is
// multiplied often enough, which those of layers in groups are not.
#include "execute/elements/float_kernel.h"
#include "execute/products/integer_convolution.h"
#include "execute/products/layer_convolution.h"
#include "execute/products/wrapped_kernel.h"
#include "graph/operators/product.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace tare {
namespace {

/// Turns the operand into unsigned bytes for another kernel.
class OnBytes final : public WrappedKernel {
 public:
  /// `shift` is added to each of so many numbers.
  OnBytes(std::size_t elements, float shift, std::unique_ptr<Kernel> kernel)
      : WrappedKernel(elements, std::move(kernel)), elements_(elements), shift_(shift) {}

  void run(const Buffers& buffers) const override {
    const auto* const numbers = reinterpret_cast<const float*>(buffers.inputs[0]);
    auto* const bytes = reinterpret_cast<std::uint8_t*>(buffers.scratch);
    for (std::size_t i = 0; i < elements_; ++i) {
      bytes[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(numbers[i] + shift_));
    }
    run_kernel_on_scratch(buffers);
  }

 private:
  std::size_t elements_;
  float shift_;
};

/// As bytes, if all of these numbers are.
std::optional<Tensor> to_bytes(const Tensor& tensor) {
  using Limits = std::numeric_limits<std::int8_t>;
  const auto numbers = tensor.view<float>();
  Tensor result(DType::kInt8, tensor.shape());
  const auto bytes = result.mutable_view<std::int8_t>();
  bool are_bytes = true;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const float clamped = std::clamp<float>(numbers[i], Limits::min(), Limits::max());
    bytes[i] = static_cast<std::int8_t>(clamped);
    are_bytes &= static_cast<float>(bytes[i]) == numbers[i];
  }
  return are_bytes ? std::optional(result) : std::nullopt;
}

/// The bias of each channel, if int32 holds them.
std::optional<std::vector<std::int32_t>> bias_of(const onednn::Convolution& shape) {
  std::vector<std::int32_t> result(static_cast<std::size_t>(shape.result[1]));
  if (!shape.constant_bias) {
    return result;
  }
  const auto numbers = shape.constant_bias->view<float>();
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (!(std::abs(numbers[i]) < 0x1p31F) || numbers[i] != std::nearbyint(numbers[i])) {
      return std::nullopt;
    }
    result[i] = static_cast<std::int32_t>(numbers[i]);
  }
  return result;
}

bool holds_bytes(const Operand& operand) {
  return operand && operand.dtype() == DType::kFloat32 && operand.type->quant &&
         size_of(operand.type->quant->storage) == 1;
}

std::unique_ptr<Kernel> make_simulated_product(const KernelRequest& request) {
  // Conversions take about what this many products in float32 do.
  constexpr double kLeastProducts = 64;
  if (request.inputs.size() < 2 || !holds_bytes(request.inputs[0]) ||
      !holds_bytes(request.inputs[1]) || request.inputs[0].type->quant->per_axis() ||
      request.inputs[1].constant == nullptr || request.outputs[0].dtype() != DType::kFloat32 ||
      request.outputs[0].shape().empty()) {
    return nullptr;
  }
  const auto axis =
      static_cast<std::size_t>(channel_axis(*request.node, request.outputs[0].shape()));
  if (!scales_along(request.post_ops, axis)) {
    return nullptr;
  }
  auto shape = onednn::layer_convolution(request);
  if (!shape || shape->computed_bias || shape->weights.size() != shape->source.size()) {
    return nullptr;
  }
  const double products = static_cast<double>(element_count(shape->weights)) /
                          static_cast<double>(shape->weights[0]) *
                          static_cast<double>(element_count(shape->result));
  if (products < kLeastProducts * static_cast<double>(element_count(shape->source))) {
    return nullptr;
  }
  const auto bias = bias_of(*shape);
  const auto weights = to_bytes(*shape->constant_weights);
  if (!bias || !weights) {
    return nullptr;
  }
  // Signed bytes are moved by 128: kernels for unsigned ones are faster.
  const QuantParams& source = *request.inputs[0].type->quant;
  const std::int32_t shift = source.storage == DType::kInt8 ? 128 : 0;
  const std::int32_t zero = source.zero_point[0] + shift;
  shape->constant_weights = *weights;
  onednn::IntegerConvolution conv{
      .shape = *std::move(shape),
      .weights = {.storage = DType::kInt8, .scale = {1}, .zero_point = {0}, .axis = {}},
      .source = {.storage = DType::kUint8, .scale = {1}, .zero_point = {zero}, .axis = {}},
      .bias = *bias,
      .result = DType::kFloat32,
      .rounding = {},
      .post_ops = request.post_ops};
  auto kernel = onednn::make_integer_convolution(conv);
  const auto elements = static_cast<std::size_t>(element_count(request.inputs[0].shape()));
  return kernel
             ? std::make_unique<OnBytes>(elements, static_cast<float>(shift), std::move(kernel))
             : nullptr;
}

}  // namespace
}  // namespace tare

TARE_KERNEL(simulated_product) {
  using namespace tare;
  return {.ops = {"Conv", "Gemm", "MatMul"},
          .layout = [](const KernelRequest& request) { return FloatRequest(request).layout(); },
          .make = make_simulated_product,
          .fuses_post_ops = true,
          .for_storage = true};
}
