// Folds a scale and a shift of its result into a layer, as is done with batch norms (Jacob et
// al., "Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
// Inference", 2018, section 3.2). Each fold is computed in double and rounded once.
#include "prepare/linear_layer.h"

#include "tare/graph.h"

#include "graph/arithmetic/per_axis.h"
#include "graph/operators/product.h"
#include "prepare/constants.h"

#include <cmath>

namespace tare {
namespace {

bool is_convolution(const Node& layer) {
  return layer.op == "Conv" || layer.op == "ConvTranspose";
}

/// The axis of the weights along which they are scaled, channel by channel. The channels of a
/// grouped ConvTranspose lie on two axes; they are folded one group at a time.
int weight_axis(const Graph& graph, const Node& layer) {
  return static_cast<int>(
      weight_layout(layer, graph.type(layer.inputs[1]).shape.size()).output);
}

std::vector<double> scaled(const Graph& graph, const Node& layer, const Tensor& weights,
                           std::span<const double> scale) {
  std::vector<double> values = weights.to_double();
  const auto groups = layer.op == "ConvTranspose"
                          ? static_cast<std::size_t>(layer.attributes.integer("group", 1))
                          : 1;
  const std::size_t group_size = values.size() / groups;
  const std::size_t group_channels = scale.size() / groups;
  Shape group_shape = weights.shape();
  group_shape.front() /= static_cast<std::int64_t>(groups);
  const auto multiply = [&](std::size_t group) {
    return [&, group](std::size_t channel, std::size_t first, std::size_t count) {
      for (std::size_t i = first; i < first + count; ++i) {
        values[group * group_size + i] *= scale[group * group_channels + channel];
      }
    };
  };
  for (std::size_t group = 0; group < groups; ++group) {
    for_each_slice(group_shape, weight_axis(graph, layer), multiply(group));
  }
  return values;
}

/// Why the operands of `layer` cannot be changed channel by channel; empty when they can.
std::string obstacle(const Graph& graph, const Node& layer, bool scales, bool shifts) {
  const Tensor* weights = graph.constant(layer.inputs[1]);
  if (scales && (weights == nullptr || weights->dtype() != DType::kFloat32)) {
    return "the weights are not a float32 constant";
  }
  const std::size_t rank = graph.type(layer.outputs[0]).shape.size();
  if (layer.op == "MatMul" &&
      (graph.type(layer.inputs[1]).shape.size() != 2 || (shifts && rank != 2))) {
    return "a MatMul of this rank has no channels or no bias";
  }
  // The rule canonical_gemm goes first; what it left as it was has no plain bias.
  const bool plain = layer.op != "Gemm" || (layer.attributes.real("alpha", 1.0F) == 1.0F &&
                                            layer.attributes.real("beta", 1.0F) == 1.0F);
  return plain ? "" : "the Gemm has factors of its own";
}

}  // namespace

Pattern linear_layer() {
  const auto has_channels = [](const Graph& graph, ValueId result) {
    return graph.type(result).shape.size() >= 2;
  };
  return op_of({"Conv", "ConvTranspose", "Gemm", "MatMul"})
      .where_value(has_channels, "has channels")
      .single_use();
}

std::size_t channel_axis(const Graph& graph, const Node& layer) {
  return is_convolution(layer) ? 1 : graph.type(layer.outputs[0]).shape.size() - 1;
}

std::variant<Patch, Refusal> folded_into(const Graph& graph, const Node& layer,
                                         std::span<const double> scale,
                                         std::span<const double> shift, ValueId result) {
  if (std::string reason = obstacle(graph, layer, !scale.empty(), !shift.empty());
      !reason.empty()) {
    return Refusal{std::move(reason)};
  }
  Patch patch(graph);
  std::vector<ValueId> inputs = layer.inputs;
  if (!scale.empty()) {
    const Tensor& weights = *graph.constant(inputs[1]);
    const auto folded = rounded(weights.shape(), scaled(graph, layer, weights, scale));
    if (!folded) {
      return Refusal{"the folded weights are not finite"};
    }
    inputs[1] = patch.add_constant(graph.name(inputs[1]), *folded);
  }
  const ValueId bias = inputs.size() > 2 ? inputs[2] : ValueId{};
  std::string op = layer.op;
  if (bias || !shift.empty()) {
    const Shape& shape = graph.type(result).shape;
    const std::size_t axis = channel_axis(graph, layer);
    const auto channels = static_cast<std::size_t>(shape[axis]);
    std::vector<double> values(channels, 0.0);
    if (bias) {
      const Shape channels_last{1, shape[axis]};
      const auto own = per_channel(graph, bias, channels_last, 1);
      if (!own) {
        return Refusal{"the bias is not a float32 constant with one number for each channel"};
      }
      values = *own;
    }
    for (std::size_t c = 0; c < channels; ++c) {
      values[c] = values[c] * (scale.empty() ? 1 : scale[c]) + (shift.empty() ? 0 : shift[c]);
    }
    const auto folded = rounded({shape[axis]}, values);
    if (!folded) {
      return Refusal{"the folded bias is not finite"};
    }
    inputs.resize(3);
    inputs[2] = patch.add_constant(bias ? graph.name(bias) : layer.name + "/bias", *folded);
    op = layer.op == "MatMul" ? "Gemm" : layer.op;
  }
  patch.replace(result,
                patch.add(op, inputs, graph.type(result), layer.name, layer.attributes));
  return patch;
}

}  // namespace tare
