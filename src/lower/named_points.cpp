// Which quantization point each value of an integer graph belongs to, as far as names tell.

#include "tare/graph.h"

#include "graph/ir/derived_names.h"
#include "graph/operators/affine_ops.h"
#include "graph/operators/product.h"
#include "lower/lower.h"

#include <cstddef>
#include <vector>

namespace tare {
namespace {

/// Points by handle; those of real values are empty.
using Points = std::map<ValueId, std::string>;

/// A sum of products, or one to which a constant was added.
void name_sum(const Graph& graph, const Node& node, Points& points) {
  const bool multiplies = is_integer_product(graph, node);
  std::string& sum = points[node.outputs[0]];
  sum = multiplies ? points.at(node.inputs[0]) + "*" + points.at(node.inputs[1])
                   : points[node.inputs[0]];
  if (multiplies && node.inputs.size() > 2 && node.inputs[2]) {
    points[node.inputs[2]] = sum;
  }
}

bool keeps_parameters(const Graph& graph, const Node& node) {
  const AffineOp* row = find_affine_op(graph, node);
  return row != nullptr &&
         (row->rule == AffineRule::kMoves || row->rule == AffineRule::kRectifies ||
          row->rule == AffineRule::kClamps);
}

Points named_points(const Graph& graph) {
  Points points;
  for (const ValueId value : graph.values()) {
    const bool is_given = graph.constant(value) != nullptr || graph.is_input(value);
    if (is_given && graph.type(value).quant) {
      points[value] = original_name(graph.name(value));
    }
  }
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    if (is_integer_product(graph, node) ||
        (node.op == "Add" && graph.type(node.outputs[0]).dtype == DType::kInt32 &&
         graph.type(node.outputs[0]).quant)) {
      name_sum(graph, node, points);
      continue;
    }
    for (const ValueId output : node.outputs) {
      if (graph.type(output).quant) {
        points[output] = keeps_parameters(graph, node) ? points[node.inputs[0]]
                                                       : original_name(graph.name(output));
      }
    }
  }
  return points;
}

}  // namespace

std::map<std::string, std::string> unnamed_points(const Graph& integer) {
  std::map<std::string, std::string> unnamed;
  for (const auto& [value, point] : named_points(integer)) {
    if (integer.type(value).point != point) {
      unnamed.emplace(integer.name(value), integer.type(value).point);
    }
  }
  return unnamed;
}

Graph with_points(Graph integer, const std::map<std::string, std::string>& unnamed) {
  for (const auto& [value, point] : named_points(integer)) {
    const auto other = unnamed.find(integer.name(value));
    TensorType type = integer.type(value);
    type.point = other == unnamed.end() ? point : other->second;
    integer.set_type(value, std::move(type));
  }
  return integer;
}

}  // namespace tare
