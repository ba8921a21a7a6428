// Writes the QuantizeLinear of images or volumes that float convolutions computed with channels
// last, and takes that spelling back when a file is read. ONNX Runtime's float kernels and its
// integer ones keep images in different layouts, and it finds the cheap way from one to the
// other only when the file spells it out: 16 % of the time of a ResNet-20
// (docs/decisions/0025-float-images-are-quantized-channels-last.md).
#include "lower/forms/channels_last.h"

#include "tare/graph.h"

#include "graph/operators/permute.h"
#include "lower/forms/add_operator.h"
#include "lower/forms/engine_wishes.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>

namespace tare {
namespace {

bool is_one_of(const std::string& op, std::span<const std::string_view> ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

bool has_one_scale(const Graph& graph, const Node& conversion) {
  return graph.type(conversion.inputs[1]).shape.size() <= 1 &&
         element_count(graph.type(conversion.inputs[1]).shape) == 1;
}

/// Of a convolution in float, or of operators on one that keep its layout. The engine rounds
/// before a pool whose result is rounded, unless that is spelled with channels last, so there
/// an operator that does not keep it counts as well.
bool comes_from_convolution(const Graph& graph, ValueId value, bool is_pooled = false) {
  constexpr std::array<std::string_view, 8> kElementwise{
      "Relu", "Clip", "LeakyRelu", "Add", "Sigmoid", "Mul", "HardSwish", "MaxPool"};
  const auto producer = graph.producer(value);
  if (!producer) {
    return false;
  }
  const Node& node = graph.node(*producer);
  if (node.op == "Conv") {
    return graph.constant(node.inputs[1]) != nullptr;  // otherwise it is one on integers
  }
  return (is_one_of(node.op, kElementwise) || (is_pooled && node.op == "Max")) &&
         comes_from_convolution(graph, node.inputs[0], is_pooled || node.op == "MaxPool");
}

/// Of a MaxPool in float, which the engine runs on blocks of channels whatever it reads.
bool is_pooled_in_blocks(const Graph& graph, ValueId value) {
  constexpr std::int64_t kBlock = 16;  // with AVX-512; otherwise 8
  const auto producer = graph.producer(value);
  return producer && graph.node(*producer).op == "MaxPool" &&
         graph.type(value).dtype == DType::kFloat32 &&
         graph.type(value).shape.at(1) % kBlock == 0;
}

/// Whether one of these operators reads the storage values, or what they stand for.
bool feeds(const Graph& graph, ValueId storage, std::span<const std::string_view> ops) {
  const std::vector<NodeId> users = graph.users(storage);
  return std::any_of(users.begin(), users.end(), [&](NodeId id) {
    const Node& user = graph.node(id);
    return is_one_of(user.op, ops) ||
           (user.op == "DequantizeLinear" && feeds(graph, user.outputs[0], ops));
  });
}

/// Whether kernels for images on integers read the storage values. That for a MaxPool with
/// channels first is a plain loop over the window of each result.
bool feeds_image_kernels(const Graph& graph, ValueId storage) {
  constexpr std::array<std::string_view, 5> kKernels{"Conv", "Add", "MaxPool", "QLinearConv",
                                                     "QLinearAdd"};
  return feeds(graph, storage, kKernels);
}

/// Whether a sum reads them, which would keep all that follows with channels first.
bool feeds_sum(const Graph& graph, ValueId storage) {
  constexpr std::array<std::string_view, 2> kSums{"Add", "QLinearAdd"};
  return feeds(graph, storage, kSums);
}

/// Images or volumes of more than one pixel, whose extents files say: but for the first one,
/// symbols have none.
bool is_image(const Graph& graph, ValueId value) {
  const Shape& shape = graph.type(value).shape;
  constexpr std::size_t kRankOfImages = 4;
  constexpr std::size_t kRankOfVolumes = 5;
  if ((shape.size() != kRankOfImages && shape.size() != kRankOfVolumes) ||
      element_count(shape) <= shape[0] * shape[1]) {
    return false;
  }
  return std::all_of(graph.dimension_names.begin(), graph.dimension_names.end(),
                     [](const auto& named) {
                       const auto& names = named.second;
                       return std::all_of(names.begin() + (names.empty() ? 0 : 1), names.end(),
                                          [](const std::string& name) { return name.empty(); });
                     });
}

/// Orders of N C ... from N ... C, and back.
std::vector<std::int64_t> channels_first(std::size_t rank) {
  std::vector<std::int64_t> order(rank);
  std::iota(order.begin() + 1, order.end(), 0);
  order[1] = static_cast<std::int64_t>(rank) - 1;
  return order;
}

std::vector<std::int64_t> channels_last(std::size_t rank) {
  std::vector<std::int64_t> order(rank);
  std::iota(order.begin(), order.end(), 1);
  order[0] = 0;
  order[rank - 1] = 1;
  return order;
}

/// The conversion with what comes before and after it.
void spell_channels_last(Graph& graph, const Node& quantize) {
  const ValueId real = quantize.inputs[0];
  const ValueId storage = quantize.outputs[0];
  const std::string name = graph.name(storage);
  const std::size_t rank = graph.type(real).shape.size();
  const TensorType image = permuted(graph.type(real), channels_last(rank));
  const TensorType bytes = permuted(graph.type(storage), channels_last(rank));
  const Shape matrix{element_count(image.shape) / image.shape.back(), image.shape.back()};
  const auto flat = [&](TensorType type) {
    type.shape = matrix;
    return type;
  };
  const ValueId last = add_operator(graph, "Transpose", {real}, image, name + "_channels_last",
                                    {{"perm", channels_last(rank)}});
  const ValueId rows = add_operator(graph, "Flatten", {last}, flat(image), name + "_pixels",
                                    {{"axis", static_cast<std::int64_t>(rank) - 1}});
  const ValueId converted =
      add_operator(graph, "QuantizeLinear", {rows, quantize.inputs[1], quantize.inputs[2]},
                   flat(bytes), name + "_pixels_quantized", quantize.attributes);
  Shape extents = bytes.shape;
  extents[0] = -1;
  const ValueId shape = graph.add_constant(
      graph.unique_name(name + "_shape"),
      Tensor::of<std::int64_t>({static_cast<std::int64_t>(extents.size())}, extents));
  const ValueId restored = add_operator(graph, "Reshape", {converted, shape}, bytes,
                                        name + "_quantized_channels_last");
  const ValueId first =
      add_operator(graph, "Transpose", {restored}, graph.type(storage),
                   name + "_channels_first", {{"perm", channels_first(rank)}});
  graph.replace_uses(storage, first);
}

/// Back through operators that keep the order of elements.
ValueId before_reshaping(const Graph& graph, ValueId value) {
  for (;;) {
    const auto producer = graph.producer(value);
    if (!producer || !graph.single_use(value)) {
      return value;
    }
    const Node& node = graph.node(*producer);
    if (node.op != "Reshape" && node.op != "Flatten") {
      return value;
    }
    value = node.inputs[0];
  }
}

/// What the value is transposed from, in that order.
std::optional<ValueId> transposed_from(const Graph& graph, ValueId value,
                                       const std::vector<std::int64_t>& order) {
  const auto producer = graph.producer(value);
  if (!producer || graph.node(*producer).op != "Transpose" ||
      graph.node(*producer).attributes.integers("perm", std::vector<std::int64_t>()) != order) {
    return std::nullopt;
  }
  return graph.node(*producer).inputs[0];
}

/// The conversion that was spelled with channels last, when `first` is its end; and of what.
struct Spelled {
  NodeId quantize;
  ValueId real;
};

std::optional<Spelled> spelled_before(const Graph& graph, ValueId first) {
  const std::size_t rank = graph.type(first).shape.size();
  const auto restored =
      rank < 2 ? std::nullopt : transposed_from(graph, first, channels_first(rank));
  if (!restored) {
    return std::nullopt;
  }
  const auto quantize = graph.producer(before_reshaping(graph, *restored));
  if (!quantize || graph.node(*quantize).op != "QuantizeLinear" ||
      !graph.single_use(graph.node(*quantize).outputs[0]) ||
      !has_one_scale(graph, graph.node(*quantize))) {
    return std::nullopt;
  }
  const ValueId last = before_reshaping(graph, graph.node(*quantize).inputs[0]);
  const auto real = transposed_from(graph, last, channels_last(rank));
  if (!real || graph.type(last).shape != graph.type(*restored).shape) {
    return std::nullopt;
  }
  return Spelled{*quantize, *real};
}

}  // namespace

Graph quantize_channels_last(Graph onnx) {
  for (const NodeId id : onnx.topological_order()) {
    const Node node = onnx.node(id);
    if (node.op == "QuantizeLinear" && node.inputs.size() > 2 && has_one_scale(onnx, node) &&
        !onnx.is_output(node.outputs[0]) && is_image(onnx, node.inputs[0]) &&
        (comes_from_convolution(onnx, node.inputs[0])
             ? feeds_image_kernels(onnx, node.outputs[0])
             : is_pooled_in_blocks(onnx, node.inputs[0]) && feeds_sum(onnx, node.outputs[0]))) {
      spell_channels_last(onnx, node);
    }
  }
  onnx.erase_unused();
  verify(onnx);
  return onnx;
}

Graph read_channels_last(Graph graph) {
  for (const NodeId id : graph.topological_order()) {
    const Node node = graph.node(id);
    const auto spelled =
        node.op == "Transpose" ? spelled_before(graph, node.outputs[0]) : std::nullopt;
    if (!spelled) {
      continue;
    }
    const Node quantize = graph.node(spelled->quantize);
    std::vector<ValueId> operands = quantize.inputs;
    operands[0] = spelled->real;
    const std::string name = graph.name(node.outputs[0]);
    const ValueId direct = add_operator(graph, "QuantizeLinear", std::move(operands),
                                        graph.type(node.outputs[0]), name, quantize.attributes);
    graph.replace_uses(node.outputs[0], direct);
  }
  graph.erase_unused();
  return graph;
}

}  // namespace tare
