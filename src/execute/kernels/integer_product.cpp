// Conv, ConvTranspose, Gemm and MatMul on storage values with exact accumulators; narrower ones
// than their type where these give the same results.
//
// What integer_convolution.cpp takes is computed there, on integers and with a Requantize
// behind it: bytes times constant bytes, on processors with VNNI. Integer kernels of x86
// without it would saturate, and there are none for 16 bits.
//
// All other products are computed by the float kernel on integer values: a float32 sum of
// integers is exact while every partial sum stays below 2^24. Where sums can be larger the
// factors are split into digits, w = 16 * high + low, and the exact sums of their products are
// added up.
//
// Splitting factors so that floating-point products of the parts are exact is the method of
// Ozaki, Ogita, Oishi and Rump ("Error-Free Transformations of Matrix Multiplication by Using
// Fast Routines of Matrix Multiplication and Its Applications", 2012). It costs one float
// product for each pair of digits, and copies of input, computed weights and result in float32.
// Bounds are those of the weights that are there, so factors of 8 bits are split only where the
// magnitudes of the weights of some result add up to more than some 65,000.

#include "execute/elements/float_kernel.h"
#include "execute/products/digits.h"
#include "execute/products/integer_convolution.h"
#include "execute/products/layer_convolution.h"
#include "graph/arithmetic/node_arithmetic.h"
#include "graph/arithmetic/storage_type.h"
#include "graph/operators/product.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace tare {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t float_bytes(const Shape& shape) {
  const std::size_t bytes = static_cast<std::size_t>(element_count(shape)) * sizeof(float);
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// storage - zero_point of a whole constant.
Tensor centred(const Tensor& storage, const QuantParams& params) {
  QuantParams unit = params;
  std::ranges::fill(unit.scale.mutable_view(), 1.0F);
  return dequantize(storage, unit);
}

/// One digit of storage - zero_point.
void centre(const TensorType& type, const std::byte* from, const Digits& digits,
            std::size_t digit, float* to) {
  const auto zero = static_cast<float>(type.quant->zero_point[0]);
  const auto count = static_cast<std::size_t>(element_count(type.shape));
  with_storage(type.quant->storage, [&](auto tag) {
    const auto* q = reinterpret_cast<const decltype(tag)*>(from);
    if (digits.count == 1) {
      for (std::size_t i = 0; i < count; ++i) {
        to[i] = static_cast<float>(q[i]) - zero;
      }
      return;
    }
    const Digit take = digits.at(digit);
    for (std::size_t i = 0; i < count; ++i) {
      to[i] = take(static_cast<float>(q[i]) - zero);
    }
  });
}

/// How the factors of a node are split; nothing where sums have too many products.
std::optional<SplitFactors> split_factors(const KernelRequest& request,
                                          const std::optional<Tensor>& weights) {
  const WeightResults results(*request.node, request.inputs[1].shape());
  const FactorReach x = factor_reach(*request.inputs[0].type->quant);
  const FactorReach w = factor_reach(*request.inputs[1].type->quant);
  return split_exactly(x, w, [&](const Digits& digits, std::size_t digit) {
    if (!weights) {
      return digits.largest(w, digit) * static_cast<double>(results.weights());
    }
    const auto values = weights->view<float>();
    const auto largest = [&](const auto& take) {
      std::vector<double> sums(results.count());
      results.for_each_run(
          [&](std::size_t result, std::size_t step, std::size_t first, std::size_t count) {
            for (std::size_t i = 0; i < count; ++i) {
              sums[result + i * step] += static_cast<double>(std::abs(take(values[first + i])));
            }
          });
      return *std::max_element(sums.begin(), sums.end());
    };
    return digits.count == 1 ? largest([](float value) { return value; })
                             : largest(digits.at(digit));
  });
}

/// The accumulator that some sum may leave, if there is one.
std::optional<Accumulator> narrow_accumulator(const KernelRequest& request) {
  if (!states_accumulator(request.attributes())) {
    return std::nullopt;
  }
  const Accumulator held = accumulator(request.attributes());
  const auto sums = worst_case_accumulators(
      ProductOperands{.node = request.node,
                      .x = request.inputs[0].type,
                      .w = request.inputs[1].type,
                      .weights = request.inputs[1].constant,
                      .bias = request.has_input(2) ? request.inputs[2].constant : nullptr});
  const bool fits = std::all_of(sums.begin(), sums.end(),
                                [&](const SumRange& sum) { return sum.fits(held); });
  return fits ? std::nullopt : std::optional(held);
}

/// The constant bias, or zeros.
std::vector<std::int32_t> bias_of(const KernelRequest& request, std::size_t channels) {
  std::vector<std::int32_t> bias(channels);
  if (request.has_input(2)) {
    const auto given = request.inputs[2].constant->view<std::int32_t>();
    for (std::size_t channel = 0; channel < channels; ++channel) {
      bias[channel] = given[channel % given.size()];
    }
  }
  return bias;
}

/// `Sum` is std::int32_t or std::int64_t.
template <class Sum>
class IntegerProduct final : public Kernel {
 public:
  /// `wraps` is what all sums are brought back into.
  IntegerProduct(const KernelRequest& request, std::optional<Accumulator> wraps)
      : input_(*request.inputs[0].type),
        result_shape_(request.outputs[0].physical_shape()),
        wraps_(wraps) {
    std::optional<Tensor> weights;
    if (request.inputs[1].constant != nullptr) {
      weights = centred(*request.inputs[1].constant, *request.inputs[1].type->quant);
    } else {
      computed_weights_ = *request.inputs[1].type;
    }
    const auto split = split_factors(request, weights);
    if (!split) {
      return;
    }
    split_ = *split;
    const auto bias = bias_of(
        request, static_cast<std::size_t>(result_shape_.empty() ? 1 : result_shape_.back()));
    bias_.assign(bias.begin(), bias.end());
    for (std::size_t digit = 0; digit < split_.weights.count; ++digit) {
      add_part(request, weights, digit);
    }
    plan_scratch();
  }

  bool valid() const {
    return !parts_.empty() && std::all_of(parts_.begin(), parts_.end(),
                                          [](const auto& part) { return part != nullptr; });
  }
  std::size_t scratch_bytes() const override { return scratch_bytes_; }
  bool packs(std::size_t operand) const override {
    return operand == 2 || (operand == 1 && !computed_weights_ && parts_[0]->packs(1));
  }
  std::size_t packed_bytes() const override {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      bytes += parts_[i]->packed_bytes() + part_weights_[i].byte_size();
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
    auto* const input = reinterpret_cast<float*>(buffers.scratch);
    auto* const weights = reinterpret_cast<float*>(buffers.scratch + weights_offset_);
    auto* const result = reinterpret_cast<float*>(buffers.scratch + result_offset_);
    auto* const sums = reinterpret_cast<Sum*>(buffers.outputs[0]);
    auto& state = *static_cast<State*>(buffers.state);
    std::byte* const out = reinterpret_cast<std::byte*>(result);
    begin(sums);
    for (std::size_t i = 0; i < split_.input.count; ++i) {
      centre(input_, buffers.inputs[0], split_.input, i, input);
      for (std::size_t k = 0; k < parts_.size(); ++k) {
        std::array<const std::byte*, 2> operands{reinterpret_cast<const std::byte*>(input),
                                                 nullptr};
        if (computed_weights_) {
          centre(*computed_weights_, buffers.inputs[1], split_.weights, k, weights);
          operands[1] = reinterpret_cast<const std::byte*>(weights);
        } else if (!parts_[k]->packs(1)) {
          operands[1] = part_weights_[k].data();
        }
        parts_[k]->run(
            {operands, {&out, 1}, buffers.scratch + part_offset_, state.parts[k].get()});
        add(result, split_.input.shift(i) + split_.weights.shift(k), sums);
      }
    }
    if (wraps_) {
      std::transform(sums, sums + element_count(result_shape_), sums,
                     [this](Sum sum) { return static_cast<Sum>(wraps_->hold(sum)); });
    }
  }

 private:
  struct State final : KernelState {
    std::vector<std::unique_ptr<KernelState>> parts;
  };
  /// Sums that leave their type keep their lowest bits, as in two's complement.
  using Bits = std::make_unsigned_t<Sum>;

  /// The products with one digit of the weights.
  void add_part(const KernelRequest& request, const std::optional<Tensor>& weights,
                std::size_t digit) {
    FloatRequest as_float(request);
    as_float.truncate(2);
    Tensor own = weights ? *weights : Tensor();
    if (weights && split_.weights.count > 1) {
      auto values = own.mutable_view<float>();
      std::transform(values.begin(), values.end(), values.begin(), split_.weights.at(digit));
    }
    if (weights) {
      as_float.set_constant(1, own);
    }
    parts_.push_back(as_float.make());
    const bool is_kept = parts_.back() != nullptr && !parts_.back()->packs(1);
    part_weights_.push_back(is_kept ? std::move(own) : Tensor());
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

  void begin(Sum* sums) const {
    const Sum* const end = sums + element_count(result_shape_);
    for (; sums < end; sums += bias_.size()) {
      std::copy(bias_.begin(), bias_.end(), sums);
    }
  }

  void add(const float* result, int shift, Sum* sums) const {
    const auto count = static_cast<std::size_t>(element_count(result_shape_));
    for (std::size_t i = 0; i < count; ++i) {
      const Bits term = static_cast<Bits>(static_cast<Sum>(result[i])) << shift;
      sums[i] = static_cast<Sum>(static_cast<Bits>(sums[i]) + term);
    }
  }

  TensorType input_;
  Shape result_shape_;
  std::optional<Accumulator> wraps_;
  std::optional<TensorType> computed_weights_;  ///< where they are no constants
  std::vector<Sum> bias_;                       ///< one for each channel
  SplitFactors split_;
  std::vector<std::unique_ptr<Kernel>> parts_;  ///< for each digit of the weights
  std::vector<Tensor> part_weights_;            ///< where the kernel did not pack them
  std::size_t weights_offset_ = 0;
  std::size_t result_offset_ = 0;
  std::size_t part_offset_ = 0;
  std::size_t scratch_bytes_ = 0;
};

/// Zero points of the weights are one, or those of the results.
bool has_result_zeros(const KernelRequest& request) {
  const Operand& w = request.inputs[1];
  const auto& axis = w.type->quant->axis;
  return !axis || static_cast<std::size_t>(*axis) ==
                      weight_layout(*request.node, w.shape().size()).output;
}

/// On integers where the processor has instructions for it.
std::unique_ptr<Kernel> make_byte_product(const KernelRequest& request) {
  const Operand& x = request.inputs[0];
  const Operand& w = request.inputs[1];
  const Operand& y = request.outputs[0];
  if (size_of(x.dtype()) != 1 || size_of(w.dtype()) != 1 || w.constant == nullptr ||
      x.type->quant->per_axis() || !has_result_zeros(request) ||
      request.attributes().real("alpha", 1) != 1) {
    return nullptr;
  }
  FloatRequest as_float(request);
  as_float.truncate(2);
  as_float.set_constant(1, *w.constant);  // only where its elements lie matters here
  auto shape = onednn::layer_convolution(as_float.request());
  if (!shape) {
    return nullptr;
  }
  onednn::IntegerConvolution conv{.shape = *std::move(shape),
                                  .weights = *w.type->quant,
                                  .source = *x.type->quant,
                                  .bias = {},
                                  .result = y.dtype()};
  conv.bias = bias_of(request, static_cast<std::size_t>(conv.shape.result[1]));
  if (!request.post_ops.empty()) {
    const QuantParams& to = *y.type->quant;
    conv.rounding = {request.post_ops[0].factors, to.zero_point[0], to.range()};
  }
  return onednn::make_integer_convolution(conv);
}

/// Sums, or what one Requantize makes of them.
bool has_integer_result(const KernelRequest& request) {
  if (request.post_ops.empty()) {
    return is_sum_type(request.outputs[0].dtype());
  }
  const Node& node = *request.node;
  const auto axis = static_cast<std::size_t>(channel_axis(node, request.outputs[0].shape()));
  return request.post_ops.size() == 1 &&
         request.post_ops[0].kind == PostOp::Kind::kRequantize &&
         scales_along(request.post_ops, axis);
}

bool has_integer_operands(const KernelRequest& request) {
  const auto is_storage = [](const Operand& operand) {
    return operand.type->quant && operand.dtype() == operand.type->quant->storage &&
           !is_sum_type(operand.type->quant->storage);
  };
  return request.inputs.size() >= 2 && is_storage(request.inputs[0]) &&
         is_storage(request.inputs[1]) && has_integer_result(request) &&
         (!request.has_input(2) || request.inputs[2].constant != nullptr);
}

template <class Sum>
std::unique_ptr<Kernel> make_for(const KernelRequest& request,
                                 const std::optional<Accumulator>& wraps) {
  auto kernel = std::make_unique<IntegerProduct<Sum>>(request, wraps);
  return kernel->valid() ? std::move(kernel) : nullptr;
}

std::unique_ptr<Kernel> make_integer_product(const KernelRequest& request) {
  if (!has_integer_operands(request)) {
    return nullptr;
  }
  const auto narrow = narrow_accumulator(request);
  if (narrow && narrow->overflow == Overflow::kSaturate) {
    return nullptr;
  }
  auto bytes = narrow ? nullptr : make_byte_product(request);
  if (bytes || !request.post_ops.empty()) {
    return bytes;
  }
  return request.outputs[0].dtype() == DType::kInt32 ? make_for<std::int32_t>(request, narrow)
                                                     : make_for<std::int64_t>(request, narrow);
}

}  // namespace
}  // namespace tare

TARE_KERNEL(integer_product) {
  using namespace tare;
  return {.ops = {"Conv", "ConvTranspose", "Gemm", "MatMul"},
          .layout = [](const KernelRequest& request) { return FloatRequest(request).layout(); },
          .make = make_integer_product,
          .fuses_post_ops = true,
          .for_storage = true,
          .takes_accumulators = true};
}
