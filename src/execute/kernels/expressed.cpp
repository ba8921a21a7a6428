// Operators of the allow-list that compute: storage operands are expressed in float32, the
// float kernel runs, its result is quantized. Of those that merely move elements Pad goes the
// same way, as what it puts around is a real number; on it, Relu and Clip this is exact.
#include "execute/elements/float_kernel.h"
#include "execute/elements/resample.h"
#include "execute/elements/rounding.h"
#include "graph/arithmetic/storage_type.h"

#include <algorithm>
#include <optional>

namespace tare {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

std::size_t float_bytes(const Operand& operand) {
  return aligned(static_cast<std::size_t>(element_count(operand.shape())) * sizeof(float));
}

/// Storage values in memory order, with what they stand for.
struct Stored {
  Shape shape;
  std::optional<std::size_t> axis;
  QuantParams params;

  explicit Stored(const Operand& operand)
      : shape(operand.physical_shape()), params(*operand.type->quant) {
    if (params.axis) {
      axis = operand.physical_axis(static_cast<std::size_t>(*params.axis));
    }
  }
};

class Expressed final : public Kernel {
 public:
  Expressed(const KernelRequest& request, std::unique_ptr<Kernel> kernel)
      : kernel_(std::move(kernel)),
        result_(request.outputs[0]),
        inputs_(request.inputs.size()) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Operand& operand = request.inputs[i];
      if (operand && operand.type->quant) {
        inputs_[i].emplace(operand);
        scratch_bytes_ += float_bytes(operand);
      }
    }
    result_offset_ = scratch_bytes_;
    kernel_offset_ = result_offset_ + float_bytes(request.outputs[0]);
    scratch_bytes_ = kernel_offset_ + kernel_->scratch_bytes();
  }

  std::size_t scratch_bytes() const override { return scratch_bytes_; }
  bool packs(std::size_t operand) const override {
    return !inputs_[operand] && kernel_->packs(operand);
  }
  std::size_t packed_bytes() const override { return kernel_->packed_bytes(); }
  std::unique_ptr<KernelState> make_state() const override { return kernel_->make_state(); }

  void run(const Buffers& buffers) const override {
    std::vector<const std::byte*> inputs(buffers.inputs.begin(), buffers.inputs.end());
    std::byte* free = buffers.scratch;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i]) {
        express(*inputs_[i], inputs[i], reinterpret_cast<float*>(free));
        inputs[i] = free;
        free +=
            aligned(static_cast<std::size_t>(element_count(inputs_[i]->shape)) * sizeof(float));
      }
    }
    std::byte* result = buffers.scratch + result_offset_;
    kernel_->run({inputs, {&result, 1}, buffers.scratch + kernel_offset_, buffers.state});
    store(reinterpret_cast<const float*>(result), buffers.outputs[0]);
  }

 private:
  static void express(const Stored& stored, const std::byte* from, float* to) {
    const QuantParams& params = stored.params;
    with_storage(params.storage, [&](auto tag) {
      map_channels(stored.shape, stored.axis, reinterpret_cast<const decltype(tag)*>(from), to,
                   [&](std::size_t channel) {
                     return [scale = params.scale[channel],
                             zero = static_cast<float>(params.zero_point[channel])](auto q) {
                       return (static_cast<float>(q) - zero) * scale;
                     };
                   });
    });
  }

  void store(const float* from, std::byte* to) const {
    const QuantParams& params = result_.params;
    const auto low = static_cast<float>(params.range().low);
    const auto high = static_cast<float>(params.range().high);
    with_storage(params.storage, [&](auto tag) {
      using Out = decltype(tag);
      map_channels(result_.shape, result_.axis, from, reinterpret_cast<Out*>(to),
                   [&](std::size_t channel) {
                     return [scale = params.scale[channel],
                             zero = static_cast<float>(params.zero_point[channel]), low,
                             high](float x) {
                       return narrowed<Out>(storage_value(x / scale, zero, low, high));
                     };
                   });
    });
  }

  std::unique_ptr<Kernel> kernel_;
  Stored result_;
  std::vector<std::optional<Stored>> inputs_;  // absent where an operand passes as it is
  std::size_t scratch_bytes_ = 0;
  std::size_t result_offset_ = 0;
  std::size_t kernel_offset_ = 0;
};

bool has_parameters_of(const Operand& operand, const Operand& result) {
  return operand.type->quant == result.type->quant;
}

/// With the result's parameters these merely move elements.
bool only_moves(const KernelRequest& request) {
  const Operand& result = request.outputs[0];
  if (request.node->op == "Resize") {
    return resample_rule(request).only_moves() && has_parameters_of(request.inputs[0], result);
  }
  return request.node->op == "Concat" &&
         std::all_of(request.inputs.begin(), request.inputs.end(), [&](const Operand& operand) {
           return has_parameters_of(operand, result);
         });
}

std::unique_ptr<Kernel> make_expressed(const KernelRequest& request) {
  const auto& params = request.outputs[0].type->quant;
  if (!params || is_sum_type(params->storage) || only_moves(request)) {
    return nullptr;
  }
  auto kernel = FloatRequest(request).make();
  return kernel ? std::make_unique<Expressed>(request, std::move(kernel)) : nullptr;
}

}  // namespace
}  // namespace tare

TARE_KERNEL(expressed) {
  using namespace tare;
  return {.rules = {AffineRule::kRectifies, AffineRule::kClamps, AffineRule::kRounds,
                    AffineRule::kTabulates},
          .layout = [](const KernelRequest& request) { return FloatRequest(request).layout(); },
          .make = make_expressed,
          .for_storage = true,
          .numerics = {Numerics::kOnnxRuntime, Numerics::kOnnx}};
}
