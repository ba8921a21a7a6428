#include "execute/onednn.h"

#include <algorithm>

namespace tare::onednn {
namespace {

/// The memory objects of one thread. Packed arguments are bound for good, the others move.
class PrimitiveState final : public KernelState {
 public:
  explicit PrimitiveState(const std::vector<Call>& calls) : stream_(engine()) {
    calls_.reserve(calls.size());
    for (const Call& call : calls) {
      Bound& bound = calls_.emplace_back();
      bound.primitive = call.primitive.get();
      for (const Argument& argument : call.arguments) {
        const bool moves = argument.from != Argument::From::kPacked;
        dnnl::memory memory =
            moves ? dnnl::memory(argument.desc, engine(), DNNL_MEMORY_NONE) : argument.packed;
        bound.arguments.push_back({argument.id, memory.get()});
        if (moves) {
          bound.moving.push_back({memory, argument.from, argument.index});
        }
      }
    }
  }

  void run(const Buffers& buffers) {
    for (const Bound& call : calls_) {
      for (const Moving& moving : call.moving) {
        dnnl::error::wrap_c_api(
            dnnl_memory_set_data_handle(moving.memory.get(), handle(moving, buffers)),
            "cannot bind memory");
      }
      dnnl::error::wrap_c_api(dnnl_primitive_execute(call.primitive, stream_.get(),
                                                     static_cast<int>(call.arguments.size()),
                                                     call.arguments.data()),
                              "cannot execute");
    }
  }

 private:
  struct Moving {
    dnnl::memory memory;
    Argument::From from;
    std::size_t index;
  };
  struct Bound {
    dnnl_primitive_t primitive = nullptr;
    std::vector<dnnl_exec_arg_t> arguments;
    std::vector<Moving> moving;
  };

  static void* handle(const Moving& moving, const Buffers& buffers) {
    switch (moving.from) {
      case Argument::From::kInput:
        return const_cast<std::byte*>(buffers.inputs[moving.index]);
      case Argument::From::kOutput:
        return buffers.outputs[moving.index];
      default:
        return buffers.scratch + moving.index;
    }
  }

  dnnl::stream stream_;
  std::vector<Bound> calls_;
};

dnnl::memory reordered(const Tensor& tensor, const dnnl::memory::desc& from,
                       const dnnl::memory::desc& to) {
  dnnl::stream stream(engine());
  dnnl::memory source(from, engine(), const_cast<std::byte*>(tensor.data()));
  dnnl::memory result(to, engine());
  dnnl::reorder(source, result).execute(stream, source, result);
  stream.wait();
  return result;
}

dnnl::primitive_attr attributes(const std::vector<PostOp>& post_ops,
                                const dnnl::memory::desc& result) {
  dnnl::post_ops list;
  for (const PostOp& op : post_ops) {
    if (op.kind == PostOp::Kind::kAdd) {
      list.append_binary(dnnl::algorithm::binary_add, result);
    } else if (op.low == 0 && op.high == std::numeric_limits<float>::infinity()) {
      list.append_eltwise(1.F, dnnl::algorithm::eltwise_relu, 0.F, 0.F);
    } else {
      list.append_eltwise(1.F, dnnl::algorithm::eltwise_clip, op.low, op.high);
    }
  }
  dnnl::primitive_attr attr;
  attr.set_post_ops(list);
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

constexpr std::size_t kAlignment = 64;

/// The calls that run a convolution: its arguments and, for computed weights,
/// the reorder into the form it wants.
template <class PrimitiveDesc>
std::unique_ptr<Kernel> assemble(const PrimitiveDesc& desc, const dnnl::primitive& primitive,
                                 const dnnl::memory::desc& stored_weights,
                                 const Convolution& spec, const std::vector<PostOp>& post_ops) {
  using From = Argument::From;
  std::vector<Call> calls;
  std::vector<std::size_t> packed;
  std::size_t scratch = desc.scratchpad_desc().get_size();
  Call call{primitive, {}};
  auto& arguments = call.arguments;
  arguments.push_back({DNNL_ARG_SRC, desc.src_desc(), From::kInput, 0});
  arguments.push_back({DNNL_ARG_DST, desc.dst_desc(), From::kOutput, 0});
  arguments.push_back({DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc(), From::kScratch, 0});
  if (spec.constant_weights) {
    arguments.push_back(
        {DNNL_ARG_WEIGHTS, desc.weights_desc(), From::kPacked, 1,
         reordered(*spec.constant_weights, stored_weights, desc.weights_desc())});
    packed.push_back(1);
  } else if (desc.weights_desc() == stored_weights) {
    arguments.push_back({DNNL_ARG_WEIGHTS, stored_weights, From::kInput, 1});
  } else {
    const std::size_t offset = (scratch + kAlignment - 1) / kAlignment * kAlignment;
    scratch = offset + desc.weights_desc().get_size();
    calls.push_back({dnnl::reorder({engine(), stored_weights, engine(), desc.weights_desc()}),
                     {{DNNL_ARG_FROM, stored_weights, From::kInput, 1},
                      {DNNL_ARG_TO, desc.weights_desc(), From::kScratch, offset}}});
    arguments.push_back({DNNL_ARG_WEIGHTS, desc.weights_desc(), From::kScratch, offset});
  }
  if (spec.constant_bias) {
    arguments.push_back({DNNL_ARG_BIAS, desc.bias_desc(), From::kPacked, 2,
                         reordered(*spec.constant_bias, desc.bias_desc(), desc.bias_desc())});
    packed.push_back(2);
  } else if (spec.computed_bias) {
    arguments.push_back({DNNL_ARG_BIAS, desc.bias_desc(), From::kInput, 2});
  }
  for (std::size_t i = 0; i < post_ops.size(); ++i) {
    if (post_ops[i].kind == PostOp::Kind::kAdd) {
      const int id = DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i)) | DNNL_ARG_SRC_1;
      arguments.push_back({id, desc.dst_desc(), From::kInput, post_ops[i].operand});
    }
  }
  calls.push_back(std::move(call));
  return std::make_unique<PrimitiveKernel>(std::move(calls), std::move(packed), scratch);
}

bool is_reference(const char* implementation) {
  return std::string_view(implementation).starts_with("ref");
}

using dnnl::memory;
constexpr auto kF32 = memory::data_type::f32;

// One position only is a convolution as well: an inner product would go through oneDNN's matrix
// product, whose order of additions depends on where in memory its operands lie.
std::unique_ptr<Kernel> chosen_convolution(const Convolution& spec,
                                           const std::vector<PostOp>& post_ops) {
  using Primitive = dnnl::convolution_forward;
  using Tag = memory::format_tag;
  constexpr Tag kTags[] = {Tag::nwc, Tag::nhwc, Tag::ndhwc};
  const Tag tag = kTags[spec.source.size() - 3];
  memory::dims dilations = spec.dilations;
  for (auto& dilation : dilations) {
    --dilation;  // oneDNN counts the gaps
  }
  const memory::desc source(spec.source, kF32, tag);
  const memory::desc result(spec.result, kF32, tag);
  const memory::desc weights(spec.weights.dims(), kF32, Tag::any);
  const memory::desc bias({spec.result[1]}, kF32, Tag::a);
  const bool has_bias = spec.constant_bias || spec.computed_bias;
  const auto forward = dnnl::prop_kind::forward_inference;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const auto desc =
      has_bias ? Primitive::desc(forward, algorithm, source, weights, bias, result,
                                 spec.strides, dilations, spec.pads_begin, spec.pads_end)
               : Primitive::desc(forward, algorithm, source, weights, result, spec.strides,
                                 dilations, spec.pads_begin, spec.pads_end);
  const Primitive::primitive_desc chosen(desc, attributes(post_ops, result), engine());
  if (!post_ops.empty() && is_reference(chosen.impl_info_str())) {
    return nullptr;
  }
  return assemble(chosen, Primitive(chosen), spec.weights, spec, post_ops);
}

}  // namespace

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

PrimitiveKernel::PrimitiveKernel(std::vector<Call> calls, std::vector<std::size_t> packed,
                                 std::size_t scratch_bytes)
    : calls_(std::move(calls)), packed_(std::move(packed)), scratch_bytes_(scratch_bytes) {}

bool PrimitiveKernel::packs(std::size_t operand) const {
  return std::find(packed_.begin(), packed_.end(), operand) != packed_.end();
}

std::size_t PrimitiveKernel::packed_bytes() const {
  std::size_t bytes = 0;
  for (const Call& call : calls_) {
    for (const Argument& argument : call.arguments) {
      bytes += argument.from == Argument::From::kPacked ? argument.desc.get_size() : 0;
    }
  }
  return bytes;
}

std::unique_ptr<KernelState> PrimitiveKernel::make_state() const {
  return std::make_unique<PrimitiveState>(calls_);
}

void PrimitiveKernel::run(const Buffers& buffers) const {
  static_cast<PrimitiveState*>(buffers.state)->run(buffers);
}

std::unique_ptr<Kernel> make_convolution(const Convolution& spec,
                                         const std::vector<PostOp>& post_ops) try {
  return chosen_convolution(spec, post_ops);
} catch (const dnnl::error& error) {
  if (error.status == dnnl_unimplemented) {
    return nullptr;
  }
  throw;
}

}  // namespace tare::onednn
