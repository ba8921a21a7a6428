// op(constants...) -> constant
//
// Exporters compute shapes, pads and tables with nodes. Quantize and dequantize nodes stay:
// they say how a constant is stored.
#include "tare/error.h"
#include "tare/execute.h"
#include "tare/graph.h"
#include "tare/pattern.h"

#include <algorithm>

namespace tare {
namespace {

/// A result above this size has to be near its operands' size, so that a table which one node
/// makes from two numbers does not end up in the file.
constexpr std::size_t kSmallBytes = std::size_t{1} << 20;
constexpr std::size_t kGrowth = 16;

std::size_t bytes_of(const TensorType& type) {
  return static_cast<std::size_t>(element_count(type.shape)) * size_of(type.dtype);
}

bool is_computable(const Graph& graph, const Node& node) {
  const bool keeps_storage = node.op.find("Quantize") != std::string::npos ||
                             node.op.find("quantize") != std::string::npos;
  return !keeps_storage && !node.inputs.empty() &&
         std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
           return !input || (graph.constant(input) != nullptr && !graph.type(input).quant);
         });
}

std::variant<Patch, Refusal> fold_constants(const Graph& graph, const Match& match) {
  const Node& node = graph.node(match.root());
  std::vector<const Tensor*> inputs;
  std::size_t read = 0;
  for (const ValueId input : node.inputs) {
    inputs.push_back(graph.constant(input));
    read += input ? bytes_of(graph.type(input)) : 0;
  }
  std::vector<TensorType> types;
  std::size_t written = 0;
  for (const ValueId output : node.outputs) {
    types.push_back(graph.type(output));
    written += bytes_of(types.back());
  }
  if (written > kSmallBytes && written > kGrowth * read) {
    return Refusal{"the result has " + std::to_string(written) + " bytes, the operands " +
                   std::to_string(read)};
  }
  try {
    const std::vector<Tensor> results = evaluate(node, inputs, types);
    Patch patch(graph);
    for (std::size_t i = 0; i < results.size(); ++i) {
      patch.replace(node.outputs[i],
                    patch.add_constant(graph.name(node.outputs[i]), results[i]));
    }
    return patch;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) {
      throw;
    }
    return Refusal{error.faults().front().what};
  }
}

}  // namespace
}  // namespace tare

TARE_RULE(fold_constants) {
  using namespace tare;
  return {.name = "fold_constants",
          .summary = "computes nodes whose operands are all constants",
          .benefit = 100,
          .pattern = [] { return any_op().where(is_computable, "all operands are constants"); },
          .rewrite = fold_constants};
}
