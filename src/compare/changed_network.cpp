// Tries changes of a quantized network without quantizing it again. The network is brought to
// real values between Quantize and Dequantize once; a change copies layers of the float network
// in, or gives a point the parameters of another range. Nothing else is calibrated anew, so
// quantizing with such a change may gain a little more or less. Cost: a copy of the graph for
// each change.
#include "compare/changed_network.h"

#include "compare/match.h"
#include "compare/point_facts.h"
#include "lower/conversions.h"
#include "lower/forms/forms.h"
#include "lower/lower.h"

#include <algorithm>

namespace tare {

ChangeableNetwork::ChangeableNetwork(const Graph& real, const Graph& integer)
    : real_(real),
      comparison_(find_layers(real, integer)),
      expressed_(from_qdq(to_qdq(integer))) {
  for (const ComparedPoint& point : comparison_.points) {
    points_.emplace(point.name, *integer.type(point.storage).quant);
  }
  for (const auto& [value, of_real] : match(real, expressed_).values) {
    forms_[of_real].push_back(value);
  }
}

bool ChangeableNetwork::has(const ProposedChange& change) const {
  const auto is_known = [&](const std::string& name) {
    return std::any_of(
        comparison_.layers.begin(), comparison_.layers.end(), [&](const ComparedLayer& layer) {
          return real_.node(layer.main).name == name &&
                 std::all_of(layer.inputs.begin(), layer.inputs.end(), [&](ValueId input) {
                   return real_.is_input(input) || expressed(input);
                 });
        });
  };
  return (change.point.empty() || points_.contains(change.point)) &&
         std::all_of(change.keep_float.begin(), change.keep_float.end(), is_known);
}

Graph ChangeableNetwork::with(std::span<const ProposedChange> changes) const {
  Graph graph = expressed_;
  std::set<std::string> in_float;
  for (const ProposedChange& change : changes) {
    in_float.insert(change.keep_float.begin(), change.keep_float.end());
    if (!change.point.empty()) {
      change_range(change.point, change.range, graph);
    }
  }
  keep_float(in_float, graph);
  graph.erase_unused();
  return graph;
}

/// What operators in float read in place of a value of the float network: rounded where it is.
ValueId ChangeableNetwork::expressed(ValueId real) const {
  const auto found = forms_.find(real);
  ValueId best;
  if (found != forms_.end()) {
    for (const ValueId form : found->second) {
      const bool is_real = !expressed_.type(form).quant;
      if (is_real && (!best || is_op(expressed_, form, "Dequantize"))) {
        best = form;
      }
    }
  }
  return best;
}

/// A layer of the float network once more, from what `copies` has of its inputs or else from
/// what the quantized network expresses.
void ChangeableNetwork::copy_layer(const ComparedLayer& layer, Copies& copies,
                                   Graph& graph) const {
  const auto copy_of = [&](ValueId operand) {
    const auto known = copies.find(operand);
    if (!operand || known != copies.end()) {
      return operand ? known->second : operand;
    }
    const Tensor* constant = real_.constant(operand);
    if (constant == nullptr) {
      return expressed(operand);
    }
    const ValueId copy = graph.add_constant(graph.unique_name(real_.name(operand)), *constant,
                                            real_.type(operand));
    return copies.emplace(operand, copy).first->second;
  };
  for (const NodeId id : layer.nodes) {
    const Node& node = real_.node(id);
    std::vector<ValueId> operands;
    std::transform(node.inputs.begin(), node.inputs.end(), std::back_inserter(operands),
                   copy_of);
    std::vector<NamedType> results;
    for (const ValueId output : node.outputs) {
      results.push_back({graph.unique_name(real_.name(output)), real_.type(output)});
    }
    const NodeId copy =
        graph.add_node(graph.unique_name(node.name), node.op, std::move(operands),
                       std::move(results), node.attributes);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      copies.insert_or_assign(node.outputs[i], graph.node(copy).outputs[i]);
    }
  }
}

/// What stands for the value of the float network becomes `copy`, rounded where it was.
void ChangeableNetwork::hand_over(ValueId real, ValueId copy, Graph& graph) const {
  const auto forms = forms_.find(real);
  if (forms == forms_.end()) {
    return;
  }
  std::vector<ValueId> outputs(graph.outputs().begin(), graph.outputs().end());
  for (const ValueId form : forms->second) {
    if (is_op(graph, form, "Quantize")) {
      graph.set_input(*graph.producer(form), 0, copy);
      continue;
    }
    std::replace(outputs.begin(), outputs.end(), form, copy);
    if (!is_op(graph, form, "Dequantize") && !graph.type(form).quant) {
      graph.replace_uses(form, copy);
    }
  }
  graph.set_outputs(std::move(outputs));
}

void ChangeableNetwork::keep_float(const std::set<std::string>& layers, Graph& graph) const {
  Copies copies;
  for (const ValueId input : real_.inputs()) {
    copies.emplace(input, graph.find_value(real_.name(input)).value());
  }
  for (const ComparedLayer& layer : comparison_.layers) {
    if (layers.contains(real_.node(layer.main).name)) {
      copy_layer(layer, copies, graph);
      hand_over(layer.real, copies.at(layer.real), graph);
    }
  }
}

/// Parameters of one point are hardly ever those of another that has nothing to do with it;
/// those of what Concat joins and of what only moves elements have to change together.
void ChangeableNetwork::change_range(const std::string& point, const Range& range,
                                     Graph& graph) const {
  const QuantParams& before = points_.at(point);
  const QuantParams params = to_quant_params({range}, spec_of(before));
  for (const ValueId value : graph.values()) {
    TensorType type = graph.type(value);
    if (type.quant == before && graph.constant(value) == nullptr) {
      type.quant = params;
      graph.set_type(value, std::move(type));
    }
  }
}

}  // namespace tare
