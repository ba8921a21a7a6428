#include "compare/real_interface.h"

#include "lower/conversions.h"

#include <algorithm>

namespace tare {
namespace {

/// Whether both have the same inputs by name, in whatever order.
bool same_names(const Graph& real, const Graph& integer) {
  return std::all_of(integer.inputs().begin(), integer.inputs().end(), [&](ValueId input) {
    const auto same = real.find_value(integer.name(input));
    return same && real.is_input(*same);
  });
}

/// An input that is fed real values in place of one. The name is a copy, as it may be one of
/// the graph, whose names move when it grows.
void replace_input(ValueId input, std::string name, Graph& graph) {
  TensorType type = graph.type(input);
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
    replace_input(inputs[i],
                  has_other_name ? real.name(real.inputs()[i]) : integer.name(inputs[i]),
                  integer);
  }
  std::vector<ValueId> outputs(integer.outputs().begin(), integer.outputs().end());
  for (ValueId& output : outputs) {
    if (integer.type(output).quant) {
      output = add_dequantize(integer, output, integer.name(output) + "_real");
    }
  }
  integer.set_outputs(std::move(outputs));
  return integer;
}

}  // namespace tare
