#include "execute/products/post_ops.h"

#include <limits>

namespace tare::onednn {
namespace {

using dnnl::memory;
constexpr auto kF32 = memory::data_type::f32;

bool is_relu(const PostOp& op) {
  return op.kind == PostOp::Kind::kClip && op.low == 0 &&
         op.high == std::numeric_limits<float>::infinity();
}

}  // namespace

memory::desc one_per_channel(const Convolution& spec) {
  memory::dims extents(spec.result.size(), 1);
  extents[1] = spec.result[1];
  return {extents, kF32, channels_last(extents.size())};
}

void append_post_ops(const Convolution& spec, const std::vector<PostOp>& post_ops,
                     dnnl::post_ops& list) {
  for (const PostOp& op : post_ops) {
    if (op.kind == PostOp::Kind::kAdd) {
      list.append_binary(dnnl::algorithm::binary_add,
                         {spec.result, kF32, channels_last(spec.result.size())});
    } else if (op.kind == PostOp::Kind::kScale && op.axis) {
      list.append_binary(dnnl::algorithm::binary_mul, one_per_channel(spec));
    } else if (op.kind == PostOp::Kind::kScale) {
      list.append_eltwise(1.F, dnnl::algorithm::eltwise_linear, op.factors[0], 0.F);
    } else if (is_relu(op)) {
      list.append_eltwise(1.F, dnnl::algorithm::eltwise_relu, 0.F, 0.F);
    } else {
      list.append_eltwise(1.F, dnnl::algorithm::eltwise_clip, op.low, op.high);
    }
  }
}

std::vector<Argument> post_op_arguments(const Convolution& spec,
                                        const std::vector<PostOp>& post_ops,
                                        const memory::desc& result, int n) {
  using From = Argument::From;
  std::vector<Argument> arguments;
  for (const PostOp& op : post_ops) {
    const int id = DNNL_ARG_ATTR_MULTIPLE_POST_OP(n++) | DNNL_ARG_SRC_1;
    if (op.kind == PostOp::Kind::kAdd) {
      arguments.push_back({id, result, From::kInput, op.operand});
    } else if (op.kind == PostOp::Kind::kScale && op.axis) {
      const auto factors = Tensor::of<float>({spec.result[1]}, op.factors);
      const memory::desc row = one_per_channel(spec);
      arguments.push_back({id, row, From::kPacked, 0, reordered(factors, row, row, nullptr)});
    }
  }
  return arguments;
}

SumEnding sum_ending(const Convolution& spec, const std::vector<PostOp>& post_ops) {
  SumEnding result{.spatial_axes = spec.result.size() - 2, .one_position = true};
  for (std::size_t axis = 0; axis < spec.result.size(); ++axis) {
    result.one_position = result.one_position && (axis == 1 || spec.result[axis] == 1);
  }
  for (std::size_t axis = 0; axis < spec.strides.size(); ++axis) {
    const std::size_t taps = spec.weights.size() - spec.strides.size() + axis;
    const std::int64_t reach = (spec.weights[taps] - 1) * spec.dilations[axis] + 1;
    result.in_padding_only = result.in_padding_only || spec.pads_begin[axis] >= reach ||
                             spec.pads_end[axis] >= reach;
  }
  bool clipped = false;
  for (const PostOp& op : post_ops) {
    const bool clip = op.kind == PostOp::Kind::kClip && !is_relu(op);
    result.clips_again = result.clips_again || (clip && clipped);
    clipped = clipped || clip;
    result.adds_tensor = result.adds_tensor || op.kind == PostOp::Kind::kAdd;
    result.clips = result.clips || op.kind == PostOp::Kind::kClip;
    result.per_channel = result.per_channel || op.axis.has_value();
  }
  return result;
}

}  // namespace tare::onednn
