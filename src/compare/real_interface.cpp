#include "compare/real_interface.h"

#include "lower/conversions.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tare {
namespace {

/// Whether both have the same inputs by name, in whatever order.
bool same_names(const Graph& real, const Graph& integer) {
  return std::all_of(integer.inputs().begin(), integer.inputs().end(), [&](ValueId input) {
    const auto same = real.find_value(integer.name(input));
    return same && real.is_input(*same);
  });
}

/// What storage values of a cache stand for: they are not said to be any, since the network
/// only puts others behind them and reads both through a DequantizeLinear.
const Node* reader_of_cache(const Graph& graph, ValueId storage) {
  for (const NodeId user : graph.users(storage)) {
    const Node& node = graph.node(user);
    if (node.op == "DequantizeLinear" && node.inputs[0] == storage) {
      return &node;
    }
    if (node.op == "Concat") {
      if (const Node* reader = reader_of_cache(graph, node.outputs[0])) {
        return reader;
      }
    }
  }
  return nullptr;
}

std::optional<QuantParams> parameters_of_cache(const Graph& graph, ValueId storage) {
  const Node* reader = reader_of_cache(graph, storage);
  const Tensor* scale = reader == nullptr ? nullptr : graph.constant(reader->inputs[1]);
  if (scale == nullptr || scale->dtype() != DType::kFloat32 || scale->shape().size() > 1) {
    return std::nullopt;
  }
  QuantParams params{.storage = graph.type(storage).dtype,
                     .scale = scale->to_float(),
                     .zero_point = {},
                     .axis = {},
                     .narrow_range = false};
  std::vector<std::int32_t> zero_points(params.scale.size());
  if (reader->inputs.size() > 2 && reader->inputs[2]) {
    const Tensor* zero = graph.constant(reader->inputs[2]);
    if (zero == nullptr || zero->to_int64().size() != params.scale.size()) {
      return std::nullopt;
    }
    const auto zeros = zero->to_int64();
    std::transform(zeros.begin(), zeros.end(), zero_points.begin(),
                   [](std::int64_t z) { return static_cast<std::int32_t>(z); });
  }
  params.zero_point = zero_points;
  if (params.scale.size() > 1) {
    params.axis = static_cast<int>(reader->attributes.integer("axis", 1));
  }
  return params;
}

/// The type of an input with what its storage values stand for, where the float network has
/// real ones.
TensorType type_of_input(const Graph& real, const std::string& name, const Graph& graph,
                         ValueId input) {
  TensorType type = graph.type(input);
  const auto same = real.find_value(name);
  if (!type.quant && type.dtype == DType::kInt8 && same &&
      real.type(*same).dtype == DType::kFloat32) {
    type.quant = parameters_of_cache(graph, input);
  }
  return type;
}

/// An input that is fed real values in place of one. The name is a copy, as it may be one of
/// the graph, whose names move when it grows.
void replace_input(ValueId input, const TensorType& type, std::string name, Graph& graph) {
  const std::string own_name = graph.name(input);
  TensorType fed = type;
  if (type.quant) {
    fed.dtype = DType::kFloat32;
    fed.quant.reset();
    fed.point.clear();
  }
  const ValueId added = graph.add_input(graph.unique_name(name), fed);
  graph.replace_uses(
      input, type.quant ? add_quantize(graph, added, type, own_name + "_storage") : added);
  graph.erase(input);
  graph.rename(added, name);
}

}  // namespace

Graph with_interface_of(const Graph& real, Graph integer) {
  const std::vector<ValueId> inputs(integer.inputs().begin(), integer.inputs().end());
  const bool by_name = same_names(real, integer);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool has_other_name = !by_name && i < real.inputs().size();
    const std::string name =
        has_other_name ? real.name(real.inputs()[i]) : integer.name(inputs[i]);
    replace_input(inputs[i], type_of_input(real, name, integer, inputs[i]), name, integer);
  }
  std::vector<ValueId> outputs(integer.outputs().begin(), integer.outputs().end());
  for (ValueId& output : outputs) {
    if (integer.type(output).quant) {
      output = add_dequantize(integer, output, integer.name(output) + "_real");
    } else if (const Node* reader = integer.type(output).dtype == DType::kInt8
                                        ? reader_of_cache(integer, output)
                                        : nullptr) {
      output = reader->outputs[0];
    }
  }
  integer.set_outputs(std::move(outputs));
  return integer;
}

}  // namespace tare
