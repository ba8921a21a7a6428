// Conv, ConvTranspose, Gemm and MatMul on storage values with exact int32 accumulators;
// narrower ones where these give the same results.
//
// The products are computed by the float kernel on integer values: a float32 sum of integers is
// exact while every partial sum stays below 2^24. Where the weights allow larger sums they are
// split, w = 16 * high + low, and the two exact results are combined in int32. Integer kernels
// of x86 without VNNI would saturate instead.
#include "tare/accumulator.h"

#include "execute/float_kernel.h"
#include "graph/product.h"
#include "graph/storage_type.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace tare {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr double kExactFloat = 0x1p24;
constexpr float kSplit = 16;

std::size_t float_bytes(const Shape& shape) {
  const std::size_t bytes = static_cast<std::size_t>(element_count(shape)) * sizeof(float);
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// storage - zero_point of a whole constant.
Tensor centred(const Tensor& storage, const QuantParams& params) {
  QuantParams unit = params;
  std::fill(unit.scale.begin(), unit.scale.end(), 1.0F);
  return dequantize(storage, unit);
}

void centre(const TensorType& type, const std::byte* from, float* to) {
  const auto zero = static_cast<float>(type.quant->zero_point[0]);
  const auto count = static_cast<std::size_t>(element_count(type.shape));
  with_storage(type.quant->storage, [&](auto tag) {
    const auto* q = reinterpret_cast<const decltype(tag)*>(from);
    for (std::size_t i = 0; i < count; ++i) {
      to[i] = static_cast<float>(q[i]) - zero;
    }
  });
}

float high_part(float w) {
  return std::floor(w / kSplit);
}

Tensor mapped(Tensor tensor, float (*f)(float)) {
  auto values = tensor.mutable_view<float>();
  std::transform(values.begin(), values.end(), values.begin(), f);
  return tensor;
}

/// Largest magnitude of a centred activation.
double reach(const QuantParams& params) {
  const StorageRange range = params.range();
  const auto zero = static_cast<double>(params.zero_point[0]);
  return std::max(static_cast<double>(range.high) - zero,
                  zero - static_cast<double>(range.low));
}

bool sums_are_exact(const KernelRequest& request, const std::optional<Tensor>& weights) {
  const double input = reach(*request.inputs[0].type->quant);
  const WeightResults results(*request.node, request.inputs[1].shape());
  if (!weights) {
    const auto depth = static_cast<double>(results.weights());
    return input * reach(*request.inputs[1].type->quant) * depth < kExactFloat;
  }
  std::vector<double> sums(results.count());
  const auto values = weights->view<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    sums[results.of(i)] += std::abs(static_cast<double>(values[i]));
  }
  return input * *std::max_element(sums.begin(), sums.end()) < kExactFloat;
}

/// Of two's complement: sums that leave int32 keep their lowest bits.
std::int32_t sum_of(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) +
                                   static_cast<std::uint32_t>(b));
}

/// The accumulator that some sum may leave, if there is one.
std::optional<Accumulator> narrow_accumulator(const KernelRequest& request) {
  if (!states_accumulator(request.attributes())) {
    return std::nullopt;
  }
  const Accumulator held = accumulator(request.attributes());
  const auto sums = guaranteed_sums(
      ProductOperands{.node = request.node,
                      .x = request.inputs[0].type,
                      .w = request.inputs[1].type,
                      .weights = request.inputs[1].constant,
                      .bias = request.has_input(2) ? request.inputs[2].constant : nullptr});
  const bool fits = std::all_of(sums.begin(), sums.end(),
                                [&](const SumRange& sum) { return sum.fits(held); });
  return fits ? std::nullopt : std::optional(held);
}

class IntegerProduct final : public Kernel {
 public:
  /// `wraps` is what all sums are brought back into.
  IntegerProduct(const KernelRequest& request, std::optional<Accumulator> wraps)
      : input_(*request.inputs[0].type),
        result_shape_(request.outputs[0].physical_shape()),
        wraps_(wraps) {
    if (request.inputs[1].constant != nullptr) {
      constant_weights_ = centred(*request.inputs[1].constant, *request.inputs[1].type->quant);
    } else {
      computed_weights_ = *request.inputs[1].type;
    }
    channels_ = static_cast<std::size_t>(result_shape_.empty() ? 1 : result_shape_.back());
    if (request.has_input(2)) {
      const auto bias = request.inputs[2].constant->view<std::int32_t>();
      for (std::size_t channel = 0; channel < channels_; ++channel) {
        bias_.push_back(bias[channel % bias.size()]);
      }
    }
    split_ = !sums_are_exact(request, constant_weights_);
    add_part(
        request,
        split_ ? [](float w) { return w - kSplit * high_part(w); } : [](float w) { return w; });
    if (split_) {
      add_part(request, high_part);
    }
    plan_scratch();
  }

  bool valid() const {
    return std::all_of(parts_.begin(), parts_.end(),
                       [](const auto& part) { return part != nullptr; });
  }
  std::size_t scratch_bytes() const override { return scratch_bytes_; }
  bool packs(std::size_t operand) const override {
    return operand == 2 || (operand == 1 && constant_weights_ && parts_[0]->packs(1));
  }
  std::size_t packed_bytes() const override {
    std::size_t bytes = 0;
    for (const auto& part : parts_) {
      bytes += part->packed_bytes();
    }
    return bytes;
  }
  std::unique_ptr<KernelState> make_state() const override {
    auto state = std::make_unique<State>();
    for (const auto& part : parts_) {
      state->parts.push_back(part->make_state());
    }
    return state;
  }

  void run(const Buffers& buffers) const override {
    auto* input = reinterpret_cast<float*>(buffers.scratch);
    auto* weights = reinterpret_cast<float*>(buffers.scratch + weights_offset_);
    auto* result = reinterpret_cast<float*>(buffers.scratch + result_offset_);
    auto* sums = reinterpret_cast<std::int32_t*>(buffers.outputs[0]);
    auto& state = *static_cast<State*>(buffers.state);
    centre(input_, buffers.inputs[0], input);
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      std::array<const std::byte*, 2> operands{reinterpret_cast<const std::byte*>(input),
                                               nullptr};
      if (computed_weights_) {
        centre(*computed_weights_, buffers.inputs[1], weights);
        take_part(part, weights);
        operands[1] = reinterpret_cast<const std::byte*>(weights);
      } else if (!parts_[part]->packs(1)) {
        operands[1] = part_weights_[part].data();
      }
      std::byte* out = reinterpret_cast<std::byte*>(result);
      parts_[part]->run(
          {operands, {&out, 1}, buffers.scratch + part_offset_, state.parts[part].get()});
      accumulate(part, result, sums);
    }
    if (wraps_) {
      std::transform(sums, sums + element_count(result_shape_), sums, [this](std::int32_t sum) {
        return static_cast<std::int32_t>(wraps_->hold(sum));
      });
    }
  }

 private:
  struct State final : KernelState {
    std::vector<std::unique_ptr<KernelState>> parts;
  };

  void add_part(const KernelRequest& request, float (*part)(float)) {
    FloatRequest as_float(request);
    as_float.truncate(2);
    part_weights_.push_back(constant_weights_ ? mapped(*constant_weights_, part) : Tensor());
    if (constant_weights_) {
      as_float.set_constant(1, part_weights_.back());
    }
    parts_.push_back(as_float.make());
  }

  void plan_scratch() {
    weights_offset_ = float_bytes(input_.shape);
    result_offset_ =
        weights_offset_ + (computed_weights_ ? float_bytes(computed_weights_->shape) : 0);
    part_offset_ = result_offset_ + float_bytes(result_shape_);
    scratch_bytes_ = part_offset_;
    for (const auto& part : parts_) {
      scratch_bytes_ =
          std::max(scratch_bytes_, part_offset_ + (part ? part->scratch_bytes() : 0));
    }
  }

  void take_part(std::size_t part, float* weights) const {
    if (!split_) {
      return;
    }
    const auto count = static_cast<std::size_t>(element_count(computed_weights_->shape));
    for (std::size_t i = 0; i < count; ++i) {
      const float high = high_part(weights[i]);
      weights[i] = part == 0 ? weights[i] - kSplit * high : high;
    }
  }

  void accumulate(std::size_t part, const float* result, std::int32_t* sums) const {
    const auto count = static_cast<std::size_t>(element_count(result_shape_));
    if (part == 1) {
      for (std::size_t i = 0; i < count; ++i) {
        sums[i] = sum_of(
            sums[i], static_cast<std::int32_t>(kSplit) * static_cast<std::int32_t>(result[i]));
      }
      return;
    }
    if (bias_.empty()) {
      std::transform(result, result + count, sums,
                     [](float x) { return static_cast<std::int32_t>(x); });
      return;
    }
    for (std::size_t row = 0; row < count; row += channels_) {
      for (std::size_t channel = 0; channel < channels_; ++channel) {
        sums[row + channel] =
            sum_of(static_cast<std::int32_t>(result[row + channel]), bias_[channel]);
      }
    }
  }

  TensorType input_;
  Shape result_shape_;
  std::optional<Accumulator> wraps_;
  std::optional<Tensor> constant_weights_;
  std::optional<TensorType> computed_weights_;
  std::vector<std::int32_t> bias_;  ///< one for each channel, or empty
  std::size_t channels_ = 1;
  bool split_ = false;
  std::vector<std::unique_ptr<Kernel>> parts_;
  std::vector<Tensor> part_weights_;
  std::size_t weights_offset_ = 0;
  std::size_t result_offset_ = 0;
  std::size_t part_offset_ = 0;
  std::size_t scratch_bytes_ = 0;
};

bool has_integer_operands(const KernelRequest& request) {
  const auto is_storage = [](const Operand& operand) {
    return operand.type->quant && operand.dtype() == operand.type->quant->storage &&
           operand.type->quant->storage != DType::kInt32;
  };
  return request.inputs.size() >= 2 && is_storage(request.inputs[0]) &&
         is_storage(request.inputs[1]) && request.outputs[0].dtype() == DType::kInt32 &&
         (!request.has_input(2) || request.inputs[2].constant != nullptr);
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  if (!has_integer_operands(request)) {
    return nullptr;
  }
  const auto narrow = narrow_accumulator(request);
  if (narrow && narrow->overflow == Overflow::kSaturate) {
    return nullptr;
  }
  auto kernel = std::make_unique<IntegerProduct>(request, narrow);
  return kernel->valid() ? std::move(kernel) : nullptr;
}

}  // namespace
}  // namespace tare

TARE_KERNEL(integer_product) {
  using namespace tare;
  return {.ops = {"Conv", "ConvTranspose", "Gemm", "MatMul"},
          .layout = [](const KernelRequest& request) { return FloatRequest(request).layout(); },
          .make = make,
          .for_storage = true,
          .takes_accumulators = true};
}
