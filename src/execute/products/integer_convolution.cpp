// Convolutions of bytes by oneDNN's kernels for VNNI, whose instruction adds four products of
// an unsigned and a signed byte to a sum of 32 bits. Those for older instruction sets saturate
// sums of two products at 16 bits, so an implementation is only taken that names VNNI.
//
// On the way from a sum to what is stored, the kernels have it in float32: they add the bias,
// multiply by the factor, and round to the nearest, halves to even. That is what Requantize
// does, to the last bit, as long as sums are integers that float32 holds. Larger ones are
// stored as they are, without a bias, which is added afterwards.
//
// Zero points of the operand are no business of the kernels: the sum of the weights times the
// zero point is taken off the bias, and padding that stands for zero points is written out.
#include "execute/products/integer_convolution.h"

#include "execute/elements/strided_copy.h"
#include "execute/products/onednn.h"
#include "execute/products/post_ops.h"
#include "execute/products/wrapped_kernel.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>

namespace tare::onednn {
namespace {

using dnnl::memory;
using IntegerPrimitive = dnnl::convolution_forward;

memory::data_type onednn_type(DType dtype) {
  return dtype == DType::kInt8      ? memory::data_type::s8
         : dtype == DType::kUint8   ? memory::data_type::u8
         : dtype == DType::kFloat32 ? memory::data_type::f32
                                    : memory::data_type::s32;
}

/// Constant weights as bytes, and what has to be known of those of each channel.
struct ByteWeights {
  Tensor bytes;  ///< extents as Convolution::weights, dense
  std::vector<std::int64_t> sums;
  std::vector<std::int64_t> magnitudes;  ///< sums of these
};

/// Nothing where a weight less its zero point is no i8.
template <class Stored>
std::optional<ByteWeights> byte_weights(const IntegerConvolution& conv) {
  using Limits = std::numeric_limits<std::int8_t>;
  const Convolution& spec = conv.shape;
  ByteWeights weights{Tensor(DType::kInt8, spec.weights), {}, {}};
  StridedCopy(DType::kInt8, spec.weights, {dense_strides(spec.weights)}, {spec.weight_strides})(
      spec.constant_weights->data(), weights.bytes.mutable_data());
  std::int8_t* byte = weights.bytes.mutable_view<std::int8_t>().data();
  const SharedArray<std::int32_t>& zeros = conv.weights.zero_point;
  const std::int64_t each = weights.bytes.size() / spec.result[1];
  for (std::int64_t channel = 0; channel < spec.result[1]; ++channel) {
    const std::int32_t zero = zeros[static_cast<std::size_t>(channel) % zeros.size()];
    std::int64_t sum = 0;
    std::int64_t magnitude = 0;
    std::int32_t low = 0;
    std::int32_t high = 0;
    for (std::int64_t i = 0; i < each; ++i, ++byte) {
      const std::int32_t weight = static_cast<Stored>(*byte) - zero;
      low = std::min(low, weight);
      high = std::max(high, weight);
      sum += weight;
      magnitude += std::abs(weight);
      *byte = static_cast<std::int8_t>(weight);
    }
    if (low < Limits::min() || high > Limits::max()) {
      return std::nullopt;
    }
    weights.sums.push_back(sum);
    weights.magnitudes.push_back(magnitude);
  }
  return weights;
}

/// The bias less what the zero point of the operand adds to the sums.
std::vector<std::int64_t> moved_bias(const IntegerConvolution& conv,
                                     const ByteWeights& weights) {
  std::vector<std::int64_t> result;
  for (std::size_t channel = 0; channel < conv.bias.size(); ++channel) {
    result.push_back(conv.bias[channel] - conv.source.zero_point[0] * weights.sums[channel]);
  }
  return result;
}

/// Whether float32 holds every number on the way.
bool fits_float(const IntegerConvolution& conv, const ByteWeights& weights,
                const std::vector<std::int64_t>& moved) {
  constexpr std::int64_t kExactFloat = 1 << 24;
  constexpr std::int64_t kLargestByte = 255;  // kernels move i8 there
  const std::int64_t zero = conv.source.zero_point[0];
  const StorageRange range = conv.source.range();
  const std::int64_t reach = std::max(std::abs(range.low - zero), std::abs(range.high - zero));
  for (std::size_t channel = 0; channel < moved.size(); ++channel) {
    const std::int64_t magnitude = weights.magnitudes[channel];
    const std::int64_t own = std::abs(std::int64_t{conv.bias[channel]});
    if (std::max({kLargestByte * magnitude, std::abs(moved[channel]),
                  reach * magnitude + own}) > kExactFloat) {
      return false;
    }
  }
  return true;
}

/// Adds a number to the sums of each channel that a kernel stores.
class BiasedKernel final : public WrappedKernel {
 public:
  /// `sums` of all channels together. Sums that leave int32 keep their lowest bits.
  BiasedKernel(const std::vector<std::int64_t>& bias, std::size_t sums,
               std::unique_ptr<Kernel> kernel)
      : WrappedKernel(0, std::move(kernel)), bias_(bias.begin(), bias.end()), sums_(sums) {}

  void run(const Buffers& buffers) const override {
    run_kernel(buffers);
    auto* sum = reinterpret_cast<std::uint32_t*>(buffers.outputs[0]);
    for (std::size_t first = 0; first < sums_; first += bias_.size()) {
      for (const std::uint32_t own : bias_) {
        *sum++ += own;
      }
    }
  }

 private:
  std::vector<std::uint32_t> bias_;
  std::size_t sums_;
};

/// Copies an operand into the middle of zero points.
class Padding {
 public:
  /// Extents are N C spatial, memory has channels last.
  Padding(const memory::dims& from, const memory::dims& to, const memory::dims& begin,
          std::int32_t zero_point)
      : bytes_(static_cast<std::size_t>(element_count(to))),
        zero_point_(zero_point),
        copy_(DType::kUint8, from, {last(to), offset(last(to), begin)}, {last(from)}) {}

  std::size_t bytes() const { return bytes_; }
  void operator()(const std::byte* from, std::byte* to) const {
    std::memset(to, zero_point_, bytes_);
    copy_(from, to);
  }

 private:
  /// Strides of N C spatial in channels-last memory.
  static memory::dims last(memory::dims extents) {
    std::rotate(extents.begin() + 1, extents.begin() + 2, extents.end());
    memory::dims strides = dense_strides(extents);
    std::rotate(strides.begin() + 1, strides.end() - 1, strides.end());
    return strides;
  }
  static std::int64_t offset(const memory::dims& strides, const memory::dims& begin) {
    std::int64_t result = 0;
    for (std::size_t axis = 0; axis < begin.size(); ++axis) {
      result += begin[axis] * strides[axis + 2];
    }
    return result;
  }

  std::size_t bytes_;
  std::int32_t zero_point_;
  StridedCopy copy_;
};

/// Runs a kernel on its padded operand.
class PaddedKernel final : public WrappedKernel {
 public:
  PaddedKernel(Padding padding, std::unique_ptr<Kernel> kernel)
      : WrappedKernel(padding.bytes(), std::move(kernel)), padding_(std::move(padding)) {}

  void run(const Buffers& buffers) const override {
    padding_(buffers.inputs[0], buffers.scratch);
    run_kernel_on_scratch(buffers);
  }

 private:
  Padding padding_;
};

dnnl::primitive_attr integer_attributes(const IntegerConvolution& conv) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (!conv.rounding) {
    dnnl::post_ops list;
    append_post_ops(conv.shape, conv.post_ops, list);
    attr.set_post_ops(list);
    return attr;
  }
  const auto& [factors, zero_point, range] = *conv.rounding;
  constexpr int kPerChannel = 1 << 1;
  attr.set_output_scales(factors.size() == 1 ? 0 : kPerChannel, factors);
  dnnl::post_ops list;
  if (zero_point != 0) {  // not before rounding, which would decide halves otherwise
    list.append_eltwise(1.F, dnnl::algorithm::eltwise_round, 0.F, 0.F);
    list.append_eltwise(1.F, dnnl::algorithm::eltwise_linear, 1.F,
                        static_cast<float>(zero_point));
  }
  const StorageRange whole = storage_range(conv.result, false);
  if (range.low != whole.low || range.high != whole.high) {
    list.append_eltwise(1.F, dnnl::algorithm::eltwise_clip, static_cast<float>(range.low),
                        static_cast<float>(range.high));
  }
  attr.set_post_ops(list);
  return attr;
}

/// An implementation and its code.
struct Made {
  IntegerPrimitive::primitive_desc desc;
  IntegerPrimitive primitive;
};

/// Nothing where it does not fit, or oneDNN 2.6 cannot write the code after all, as for some
/// convolutions in groups with several post-ops.
std::optional<Made> made(const IntegerPrimitive::primitive_desc& desc,
                         const IntegerConvolution& conv, bool has_bias) try {
  const std::string_view name = desc.impl_info_str();
  const auto names = [&](std::string_view part) {
    return name.find(part) != std::string_view::npos;
  };
  // Others than those by matrix products multiply by a factor in float32 even if it is 1.
  if (!names("vnni") || (!has_bias && !names("brg")) ||
      goes_wrong(name, sum_ending(conv.shape, conv.post_ops))) {
    return std::nullopt;
  }
  return Made{desc, IntegerPrimitive(desc)};
} catch (const dnnl::error&) {
  return std::nullopt;
}

/// What is convolved, with a bias in float32 or without one.
IntegerPrimitive::desc description(const IntegerConvolution& conv, bool has_bias) {
  const Convolution& spec = conv.shape;
  const memory::format_tag tag = channels_last(spec.source.size());
  memory::dims dilations = spec.dilations;
  for (auto& dilation : dilations) {
    --dilation;  // oneDNN counts the gaps
  }
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const memory::desc source(spec.source, onednn_type(conv.source.storage), tag);
  const memory::desc weights(spec.weights, memory::data_type::s8, memory::format_tag::any);
  const memory::desc bias({spec.result[1]}, memory::data_type::f32, memory::format_tag::a);
  const memory::desc result(spec.result, onednn_type(conv.result), tag);
  return has_bias
             ? IntegerPrimitive::desc(kind, algorithm, source, weights, bias, result,
                                      spec.strides, dilations, spec.pads_begin, spec.pads_end)
             : IntegerPrimitive::desc(kind, algorithm, source, weights, result, spec.strides,
                                      dilations, spec.pads_begin, spec.pads_end);
}

/// The first implementation that can be had.
std::optional<Made> choose_vnni(const IntegerConvolution& conv, bool has_bias) try {
  IntegerPrimitive::primitive_desc desc(description(conv, has_bias), integer_attributes(conv),
                                        engine());
  auto result = made(desc, conv, has_bias);
  while (!result && desc.next_impl()) {
    result = made(desc, conv, has_bias);
  }
  return result;
} catch (const dnnl::error& error) {
  if (error.status == dnnl_unimplemented) {
    return std::nullopt;
  }
  throw;
}

/// `bias` may be null.
std::unique_ptr<Kernel> primitive_kernel(const IntegerConvolution& conv, const Tensor& weights,
                                         const Tensor* bias) {
  const auto chosen = choose_vnni(conv, bias != nullptr);
  if (!chosen) {
    return nullptr;
  }
  const auto& [desc, primitive] = *chosen;
  using Kind = Argument::From;
  const memory::desc stored(conv.shape.weights, memory::data_type::s8,
                            dense_strides(conv.shape.weights));
  std::vector<Argument> arguments{
      {DNNL_ARG_SRC, desc.src_desc(), Kind::kInput, 0},
      {DNNL_ARG_DST, desc.dst_desc(), Kind::kOutput, 0},
      {DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc(), Kind::kScratch, 0},
      {DNNL_ARG_WEIGHTS, desc.weights_desc(), Kind::kPacked, 1,
       reordered(weights, stored, desc.weights_desc(), conv.shape.packing.get())}};
  if (bias != nullptr) {
    arguments.push_back({DNNL_ARG_BIAS, desc.bias_desc(), Kind::kPacked, 2,
                         reordered(*bias, desc.bias_desc(), desc.bias_desc(), nullptr)});
  }
  const auto more = post_op_arguments(conv.shape, conv.post_ops, desc.dst_desc(), 0);
  arguments.insert(arguments.end(), more.begin(), more.end());
  const std::size_t scratch = desc.scratchpad_desc().get_size();
  return std::make_unique<PrimitiveKernel>(std::vector<Call>{{primitive, std::move(arguments)}},
                                           std::vector<std::size_t>{1, 2}, scratch);
}

/// With all that is added. Null where sums are rounded that float32 does not hold.
std::unique_ptr<Kernel> biased_kernel(const IntegerConvolution& conv,
                                      const ByteWeights& weights) {
  const std::vector<std::int64_t> moved = moved_bias(conv, weights);
  if (conv.result == DType::kFloat32 || fits_float(conv, weights, moved)) {
    const std::vector<float> values(moved.begin(), moved.end());
    const Tensor bias = Tensor::of<float>({conv.shape.result[1]}, values);
    return primitive_kernel(conv, weights.bytes, &bias);
  }
  // Signed bytes are moved by 128, and what that adds is subtracted in float32.
  if (conv.rounding || conv.source.storage != DType::kUint8) {
    return nullptr;
  }
  auto kernel = primitive_kernel(conv, weights.bytes, nullptr);
  const auto sums = static_cast<std::size_t>(element_count(conv.shape.result));
  return kernel ? std::make_unique<BiasedKernel>(moved, sums, std::move(kernel)) : nullptr;
}

/// Whether there is padding that kernels would not fill with what it stands for.
bool writes_padding(const IntegerConvolution& conv) {
  const auto pads = [](const memory::dims& side) {
    return std::any_of(side.begin(), side.end(), [](auto extent) { return extent > 0; });
  };
  return conv.source.zero_point[0] != 0 &&
         (pads(conv.shape.pads_begin) || pads(conv.shape.pads_end));
}

}  // namespace

std::unique_ptr<Kernel> make_integer_convolution(const IntegerConvolution& conv) {
  const bool has_vnni =
      may_use(dnnl::cpu_isa::avx512_core_vnni) || may_use(dnnl::cpu_isa::avx2_vnni);
  if (!has_vnni || !conv.shape.constant_weights) {
    return nullptr;
  }
  const auto weights = conv.weights.storage == DType::kUint8 ? byte_weights<std::uint8_t>(conv)
                                                             : byte_weights<std::int8_t>(conv);
  if (!weights) {
    return nullptr;
  }
  if (!writes_padding(conv)) {
    return biased_kernel(conv, *weights);
  }
  IntegerConvolution padded = conv;
  Convolution& spec = padded.shape;
  for (std::size_t axis = 0; axis < spec.pads_begin.size(); ++axis) {
    spec.source[axis + 2] += spec.pads_begin[axis] + spec.pads_end[axis];
    spec.pads_begin[axis] = 0;
    spec.pads_end[axis] = 0;
  }
  const double most = 4.0 * static_cast<double>(element_count(conv.shape.source)) + 65536;
  double bytes = 1;
  for (const auto extent : spec.source) {
    bytes *= static_cast<double>(extent);
  }
  if (bytes > most) {  // than what the operand takes in float32
    return nullptr;
  }
  auto kernel = biased_kernel(padded, *weights);
  return kernel ? std::make_unique<PaddedKernel>(
                      Padding(conv.shape.source, spec.source, conv.shape.pads_begin,
                              conv.source.zero_point[0]),
                      std::move(kernel))
                : nullptr;
}

}  // namespace tare::onednn
