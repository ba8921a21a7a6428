// Operators of the allow-list that round once: storage operands are expressed in float32, the
// float kernel runs, its result is quantized. Relu, Clip and Pad go the same way; on them it is
// exact.
#include "execute/float_kernel.h"
#include "execute/rounding.h"
#include "graph/storage_type.h"

#include <algorithm>

namespace tare {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::size_t float_bytes(const Operand& operand) {
  return aligned(static_cast<std::size_t>(element_count(operand.shape())) * sizeof(float));
}

class Expressed final : public Kernel {
 public:
  Expressed(const KernelRequest& request, std::unique_ptr<Kernel> kernel)
      : kernel_(std::move(kernel)),
        result_(*request.outputs[0].type),
        inputs_(request.inputs.size()) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Operand& operand = request.inputs[i];
      if (operand && operand.type->quant) {
        inputs_[i] = *operand.type;
        scratch_bytes_ += float_bytes(operand);
      }
    }
    result_offset_ = scratch_bytes_;
    kernel_offset_ = result_offset_ + float_bytes(request.outputs[0]);
    scratch_bytes_ = kernel_offset_ + kernel_->scratch_bytes();
  }

  std::size_t scratch_bytes() const override { return scratch_bytes_; }
  bool packs(std::size_t operand) const override {
    return !inputs_[operand].quant && kernel_->packs(operand);
  }
  std::size_t packed_bytes() const override { return kernel_->packed_bytes(); }
  std::unique_ptr<KernelState> make_state() const override { return kernel_->make_state(); }

  void run(const Buffers& buffers) const override {
    std::vector<const std::byte*> inputs(buffers.inputs.begin(), buffers.inputs.end());
    std::byte* free = buffers.scratch;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].quant) {
        express(inputs_[i], inputs[i], reinterpret_cast<float*>(free));
        inputs[i] = free;
        free +=
            aligned(static_cast<std::size_t>(element_count(inputs_[i].shape)) * sizeof(float));
      }
    }
    std::byte* result = buffers.scratch + result_offset_;
    kernel_->run({inputs, {&result, 1}, buffers.scratch + kernel_offset_, buffers.state});
    store(reinterpret_cast<const float*>(result), buffers.outputs[0]);
  }

 private:
  static void express(const TensorType& type, const std::byte* from, float* to) {
    const float scale = type.quant->scale[0];
    const auto zero = static_cast<float>(type.quant->zero_point[0]);
    const auto count = static_cast<std::size_t>(element_count(type.shape));
    with_storage(type.quant->storage, [&](auto tag) {
      const auto* q = reinterpret_cast<const decltype(tag)*>(from);
      for (std::size_t i = 0; i < count; ++i) {
        to[i] = (static_cast<float>(q[i]) - zero) * scale;
      }
    });
  }

  void store(const float* from, std::byte* to) const {
    const QuantParams& params = *result_.quant;
    const float scale = params.scale[0];
    const auto zero = static_cast<float>(params.zero_point[0]);
    const auto low = static_cast<float>(params.range().low);
    const auto high = static_cast<float>(params.range().high);
    const auto count = static_cast<std::size_t>(element_count(result_.shape));
    with_storage(params.storage, [&](auto tag) {
      using Out = decltype(tag);
      auto* q = reinterpret_cast<Out*>(to);
      for (std::size_t i = 0; i < count; ++i) {
        q[i] = static_cast<Out>(storage_value(from[i] / scale, zero, low, high));
      }
    });
  }

  std::unique_ptr<Kernel> kernel_;
  TensorType result_;
  std::vector<TensorType> inputs_;  // those without quant pass as they are
  std::size_t scratch_bytes_ = 0;
  std::size_t result_offset_ = 0;
  std::size_t kernel_offset_ = 0;
};

/// A Concat whose operands have the result's parameters only moves elements.
bool only_moves(const KernelRequest& request) {
  return request.node->op == "Concat" &&
         std::all_of(request.inputs.begin(), request.inputs.end(), [&](const Operand& operand) {
           return operand.type->quant == request.outputs[0].type->quant;
         });
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  const auto& params = request.outputs[0].type->quant;
  if (!params || params->per_axis() || params->storage == DType::kInt32 ||
      only_moves(request)) {
    return nullptr;
  }
  const bool per_tensor =
      std::none_of(request.inputs.begin(), request.inputs.end(), [](const Operand& operand) {
        return operand && operand.type->quant && operand.type->quant->per_axis();
      });
  auto kernel = per_tensor ? FloatRequest(request).make() : nullptr;
  return kernel ? std::make_unique<Expressed>(request, std::move(kernel)) : nullptr;
}

}  // namespace
}  // namespace tare

TARE_KERNEL(expressed) {
  using namespace tare;
  return {.ops = {"Add", "AveragePool", "Clip", "Concat", "GlobalAveragePool", "Mul", "Pad",
                  "Relu", "Sigmoid", "Sub"},
          .layout = [](const KernelRequest& request) { return FloatRequest(request).layout(); },
          .make = make,
          .for_storage = true};
}
