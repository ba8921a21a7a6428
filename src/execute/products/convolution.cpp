// Float convolutions and matrix products by oneDNN, with the operations behind them as its
// post-ops. Of its implementations the first is taken that is not known to be wrong
// (onednn_faults.h). Weights are packed for it once.
//
// With `precise` the bias is added to the finished sum, and pointwise sums are computed in two
// halves. Partial sums are then smaller and chains shorter, which is what rounding errors grow
// with: errors of YOLOX nano fall from 1.8e-4 to 0.5e-4 of its outputs for a sixth more time
// (docs/decisions/0010-run-rounds-less-than-calibration.md).
#include "execute/products/convolution.h"

#include "execute/products/onednn.h"
#include "execute/products/onednn_faults.h"
#include "execute/products/post_ops.h"

#include <algorithm>
#include <string_view>

namespace tare::onednn {
namespace {

bool is_reference(const char* implementation) {
  return std::string_view(implementation).starts_with("ref");
}

using dnnl::memory;
using Primitive = dnnl::convolution_forward;
using From = Argument::From;
constexpr auto kF32 = memory::data_type::f32;
constexpr std::size_t kAlignment = 64;

/// Where the bias of a convolution is added.
enum class Bias : std::uint8_t {
  kNone,
  kFirst,  ///< the sum starts with it
  kLast,   ///< to the finished sum
};

/// What happens to a sum of products before it is stored.
struct Ending {
  bool accumulate = false;  ///< add what the result held before
  Bias bias = Bias::kNone;
  std::vector<PostOp> post_ops;
};

dnnl::primitive_attr attributes(const Convolution& spec, const Ending& ending) {
  dnnl::post_ops list;
  if (ending.accumulate) {
    list.append_sum();
  }
  if (ending.bias == Bias::kLast) {
    list.append_binary(dnnl::algorithm::binary_add, one_per_channel(spec));
  }
  append_post_ops(spec, ending.post_ops, list);
  dnnl::primitive_attr attr;
  attr.set_post_ops(list);
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

/// One position only is a convolution as well: an inner product would go through oneDNN's
/// matrix product, whose order of additions depends on where in memory its operands lie.
Primitive::desc describe(const Convolution& spec, const Ending& ending) {
  const memory::format_tag tag = channels_last(spec.source.size());
  memory::dims dilations = spec.dilations;
  for (auto& dilation : dilations) {
    --dilation;  // oneDNN counts the gaps
  }
  const memory::desc source(spec.source, kF32, tag);
  const memory::desc result(spec.result, kF32, tag);
  const memory::desc weights(spec.weights, kF32, memory::format_tag::any);
  const memory::desc bias({spec.result[1]}, kF32, memory::format_tag::a);
  const auto forward = dnnl::prop_kind::forward_inference;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  return ending.bias == Bias::kFirst
             ? Primitive::desc(forward, algorithm, source, weights, bias, result, spec.strides,
                               dilations, spec.pads_begin, spec.pads_end)
             : Primitive::desc(forward, algorithm, source, weights, result, spec.strides,
                               dilations, spec.pads_begin, spec.pads_end);
}

/// The first implementation that is right; nothing where oneDNN has none but its plain loops,
/// unless these are wanted too.
std::optional<Primitive::primitive_desc> choose(const Convolution& spec, const Ending& ending,
                                                bool even_loops) try {
  SumEnding what = sum_ending(spec, ending.post_ops);
  what.accumulates = ending.accumulate;
  what.per_channel = what.per_channel || ending.bias == Bias::kLast;
  Primitive::primitive_desc desc(describe(spec, ending), attributes(spec, ending), engine());
  while (goes_wrong(desc.impl_info_str(), what)) {
    if (!desc.next_impl()) {
      return std::nullopt;
    }
  }
  return even_loops || !is_reference(desc.impl_info_str()) ? std::optional(desc) : std::nullopt;
} catch (const dnnl::error& error) {
  if (error.status == dnnl_unimplemented) {
    return std::nullopt;
  }
  throw;
}

/// The calls of a kernel, as they are put together.
class CallList {
 public:
  /// Room in scratch memory; its offset.
  std::size_t reserve(std::size_t bytes) {
    const std::size_t offset = (scratch_ + kAlignment - 1) / kAlignment * kAlignment;
    scratch_ = offset + bytes;
    return offset;
  }

  /// Copies part of operand 0 to scratch memory; the argument that reads it there.
  Argument gather_source(const memory::desc& part, const memory::desc& dense) {
    const std::size_t offset = reserve(dense.get_size());
    calls_.push_back({dnnl::reorder({engine(), part, engine(), dense}),
                      {{DNNL_ARG_FROM, part, From::kInput, 0},
                       {DNNL_ARG_TO, dense, From::kScratch, offset}}});
    return {DNNL_ARG_SRC, dense, From::kScratch, offset};
  }

  void convolve(const Convolution& spec, const Ending& ending,
                const Primitive::primitive_desc& desc, Argument source,
                const memory::desc& stored_weights) {
    Call call{Primitive(desc), {std::move(source)}};
    auto& arguments = call.arguments;
    arguments.push_back({DNNL_ARG_DST, desc.dst_desc(), From::kOutput, 0});
    arguments.push_back({DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc(), From::kScratch,
                         reserve(desc.scratchpad_desc().get_size())});
    arguments.push_back(weights(spec, stored_weights, desc.weights_desc()));
    int position = ending.accumulate ? 1 : 0;
    if (ending.bias == Bias::kFirst) {
      arguments.push_back(bias(spec, DNNL_ARG_BIAS, desc.bias_desc()));
    } else if (ending.bias == Bias::kLast) {
      arguments.push_back(bias(spec,
                               DNNL_ARG_ATTR_MULTIPLE_POST_OP(position++) | DNNL_ARG_SRC_1,
                               one_per_channel(spec)));
    }
    const auto more = post_op_arguments(spec, ending.post_ops, desc.dst_desc(), position);
    arguments.insert(arguments.end(), more.begin(), more.end());
    calls_.push_back(std::move(call));
  }

  std::unique_ptr<Kernel> finish() {
    return std::make_unique<PrimitiveKernel>(std::move(calls_), std::move(packed_), scratch_);
  }

 private:
  Argument pack(const Convolution& spec, int id, std::size_t operand, const Tensor& tensor,
                const memory::desc& from, const memory::desc& to) {
    if (std::find(packed_.begin(), packed_.end(), operand) == packed_.end()) {
      packed_.push_back(operand);
    }
    return {id, to, From::kPacked, operand, reordered(tensor, from, to, spec.packing.get())};
  }

  /// Constant weights are packed once, computed ones reordered before each run where they lie
  /// otherwise than the convolution wants.
  Argument weights(const Convolution& spec, const memory::desc& stored,
                   const memory::desc& wanted) {
    if (spec.constant_weights) {
      return pack(spec, DNNL_ARG_WEIGHTS, 1, *spec.constant_weights, stored, wanted);
    }
    if (wanted == stored) {
      return {DNNL_ARG_WEIGHTS, stored, From::kInput, 1};
    }
    const std::size_t offset = reserve(wanted.get_size());
    calls_.push_back({dnnl::reorder({engine(), stored, engine(), wanted}),
                      {{DNNL_ARG_FROM, stored, From::kInput, 1},
                       {DNNL_ARG_TO, wanted, From::kScratch, offset}}});
    return {DNNL_ARG_WEIGHTS, wanted, From::kScratch, offset};
  }

  Argument bias(const Convolution& spec, int id, const memory::desc& desc) {
    return spec.constant_bias ? pack(spec, id, 2, *spec.constant_bias, desc, desc)
                              : Argument{id, desc, From::kInput, 2};
  }

  std::vector<Call> calls_;
  std::vector<std::size_t> packed_;
  std::size_t scratch_ = 0;
};

Argument whole_source(const Primitive::primitive_desc& desc) {
  return {DNNL_ARG_SRC, desc.src_desc(), From::kInput, 0};
}

memory::desc stored_weights(const Convolution& spec) {
  return {spec.weights, kF32, spec.weight_strides};
}

/// Ungrouped, with a window of one position.
bool is_pointwise(const Convolution& spec) {
  return spec.weights.size() == spec.source.size() &&
         std::all_of(spec.weights.begin() + 2, spec.weights.end(),
                     [](auto extent) { return extent == 1; });
}

bool has_bias(const Convolution& spec) {
  return spec.constant_bias || spec.computed_bias;
}

std::unique_ptr<Kernel> fast_convolution(const Convolution& spec,
                                         const std::vector<PostOp>& post_ops) {
  const Ending ending{.bias = has_bias(spec) ? Bias::kFirst : Bias::kNone,
                      .post_ops = post_ops};
  const auto desc = choose(spec, ending, post_ops.empty());
  if (!desc) {
    return nullptr;
  }
  CallList calls;
  calls.convolve(spec, ending, *desc, whole_source(*desc), stored_weights(spec));
  return calls.finish();
}

/// The sum over input channels in two halves, the bias after it. A sum of many products rounds
/// to the precision of its partial sums: one chain is longer, and one that starts with the bias
/// is often much larger than its result.
std::unique_ptr<Kernel> precise_convolution(const Convolution& spec,
                                            const std::vector<PostOp>& post_ops) {
  const Ending end{.bias = has_bias(spec) ? Bias::kLast : Bias::kNone, .post_ops = post_ops};
  CallList calls;
  // Shorter sums hardly round, see decision 10; halves of whole vectors of 8 channels.
  const bool in_halves = is_pointwise(spec) && spec.constant_weights && spec.source[1] >= 64 &&
                         spec.source[1] % 16 == 0;
  if (!in_halves) {
    const auto desc = choose(spec, end, false);
    if (!desc) {
      return nullptr;
    }
    calls.convolve(spec, end, *desc, whole_source(*desc), stored_weights(spec));
    return calls.finish();
  }
  Convolution half = spec;
  half.source[1] /= 2;
  half.weights[1] /= 2;
  const memory::desc source(spec.source, kF32, channels_last(spec.source.size()));
  for (const std::int64_t part : {0, 1}) {
    Ending ending = part == 0 ? Ending{} : end;
    ending.accumulate = part != 0;
    const auto desc = choose(half, ending, false);
    if (!desc) {
      return nullptr;
    }
    memory::dims offsets(half.source.size(), 0);
    offsets[1] = part * half.source[1];
    calls.convolve(
        half, ending, *desc,
        calls.gather_source(source.submemory_desc(half.source, offsets), desc->src_desc()),
        stored_weights(spec).submemory_desc(half.weights, offsets));
  }
  return calls.finish();
}

}  // namespace

std::unique_ptr<Kernel> make_convolution(const Convolution& spec,
                                         const std::vector<PostOp>& post_ops) {
  std::unique_ptr<Kernel> kernel = spec.precise ? precise_convolution(spec, post_ops) : nullptr;
  return kernel != nullptr ? std::move(kernel) : fast_convolution(spec, post_ops);
}

}  // namespace tare::onednn
