// Gelu(Gather(table, indices) + bias) -> Gather(table, indices), with the rest in the table
//
// What is computed of each element alone is computed of a table once.
#include "tare/graph.h"
#include "tare/pattern.h"

#include "graph/operators/affine_ops.h"

#include <algorithm>

namespace tare {
namespace {

/// A table may have so many elements, or so many times those that are read of it, so that no
/// large embedding is read for a few rows of it.
constexpr std::int64_t kSmallTable = std::int64_t{1} << 18;
constexpr std::int64_t kTimesRead = 16;

bool is_by_rows(const Graph& graph, const Node& gather) {
  if (gather.inputs.size() != 2) {
    return false;
  }
  const Tensor* table = graph.constant(gather.inputs[0]);
  return table != nullptr && table->dtype() == DType::kFloat32 &&
         !graph.type(gather.inputs[0]).quant && !table->shape().empty() &&
         normalized_axis(gather.attributes.integer("axis", 0), table->shape().size()) == 0 &&
         table->size() <=
             std::max(kSmallTable,
                      kTimesRead * element_count(graph.type(gather.outputs[0]).shape));
}

bool is_elementwise(const Graph& graph, const Node& node) {
  const AffineOp* row = find_affine_op(graph, node);
  return node.outputs.size() == 1 && graph.type(node.outputs[0]).dtype == DType::kFloat32 &&
         (node.op == "Add" || node.op == "Sub" || node.op == "Mul" || node.op == "Div" ||
          is_activation(node) || (row != nullptr && row->rule == AffineRule::kTabulates));
}

/// The constant as it is beside rows: without the axes that it repeats for all of them.
std::optional<Tensor> beside_rows(const Tensor& tensor, std::size_t rank_of_row) {
  const Shape& shape = tensor.shape();
  if (shape.size() <= rank_of_row) {
    return tensor;
  }
  const auto extra = static_cast<std::ptrdiff_t>(shape.size() - rank_of_row);
  if (std::any_of(shape.begin(), shape.begin() + extra, [](auto n) { return n != 1; })) {
    return std::nullopt;
  }
  return tensor.reshaped({shape.begin() + extra, shape.end()});
}

bool keeps_rows(const Graph& graph, const Node& reshape, const Shape& table) {
  const auto target = constant_integers(graph, reshape, 1);
  return target && target->size() >= table.size() - 1 &&
         std::equal(table.begin() + 1, table.end(),
                    target->end() - static_cast<std::ptrdiff_t>(table.size() - 1));
}

std::variant<Patch, Refusal> compute_table(const Graph& graph, const Match& match) {
  const Node& node = graph.node(match.root());
  const Node& gather = graph.node(match.node("gather"));
  const TensorType& table = graph.type(gather.inputs[0]);
  const Node* reshape = match.has("reshape") ? &graph.node(match.node("reshape")) : nullptr;
  const ValueId rows = (reshape != nullptr ? *reshape : gather).outputs[0];
  if (graph.type(node.outputs[0]).shape != graph.type(rows).shape ||
      (reshape != nullptr && !keeps_rows(graph, *reshape, table.shape))) {
    return Refusal{"it takes apart or repeats the rows"};
  }
  Patch patch(graph);
  std::vector<ValueId> operands = node.inputs;
  for (ValueId& operand : operands) {
    if (operand == rows) {
      operand = gather.inputs[0];
      continue;
    }
    if (!operand) {
      continue;
    }
    const Tensor* tensor = graph.constant(operand);
    const auto own =
        tensor == nullptr ? std::nullopt : beside_rows(*tensor, table.shape.size() - 1);
    if (!own) {
      return Refusal{"it takes other values beside the rows"};
    }
    operand = patch.add_constant(graph.name(operand), *own);
  }
  const ValueId computed =
      patch.add(node.op, operands, table, node.name + "/table", node.attributes);
  const std::vector<ValueId> lookup{computed, gather.inputs[1]};
  if (reshape == nullptr) {
    patch.replace_node(node, "Gather", lookup, gather.attributes);
    return patch;
  }
  const ValueId picked = patch.add("Gather", lookup, graph.type(gather.outputs[0]), gather.name,
                                   gather.attributes);
  patch.replace_node(node, "Reshape", {picked, reshape->inputs[1]}, reshape->attributes);
  return patch;
}

}  // namespace
}  // namespace tare

TARE_RULE(fold_table) {
  using namespace tare;
  return {.name = "fold_table",
          .summary = "computes what follows a lookup in a table in the table",
          .benefit = 50,
          .pattern =
              [] {
                const Pattern gather = op("Gather")
                                           .single_use()
                                           .where(is_by_rows, "looks rows of a table up")
                                           .as("gather");
                const Pattern rows =
                    gather | op("Reshape").with(gather, constant()).single_use().as("reshape");
                const Pattern elementwise =
                    any_op().where(is_elementwise, "computes each element on its own");
                return elementwise.with(rows).with_more() | elementwise.with(any(), rows);
              },
          .rewrite = compute_table};
}
