#include "graph/operators/inner_graphs.h"

#include "tare/error.h"
#include "tare/graph.h"

namespace tare {

std::vector<std::string> graph_attributes(std::string_view op) {
  if (op == "If") {
    return {"then_branch", "else_branch"};
  }
  if (op == "Loop" || op == "Scan" || op == "Region") {
    return {"body"};
  }
  return {};
}

std::vector<std::string> captured_names(const Node& node) {
  const auto found = node.attributes.items().find("captured");
  if (found == node.attributes.items().end()) {
    return {};
  }
  if (const auto* names = std::get_if<std::vector<std::string>>(&found->second)) {
    return *names;
  }
  throw Error(ErrorCode::kInvalidModel, "", "attribute 'captured' has an unexpected type");
}

std::size_t own_operands(const Node& node) {
  const std::size_t captured = captured_names(node).size();
  if (captured > node.inputs.size()) {
    throw Error(ErrorCode::kInvalidModel, "",
                "captures " + std::to_string(captured) + " values and has " +
                    std::to_string(node.inputs.size()) + " operands");
  }
  return node.inputs.size() - captured;
}

Graph inner_graph(const Node& node, const std::string& attribute) {
  try {
    return parse(node.attributes.text(attribute));
  } catch (Error& error) {
    error.at("attribute '" + attribute + "'");
    throw;
  }
}

}  // namespace tare
