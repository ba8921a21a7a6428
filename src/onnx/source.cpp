#include "onnx/source.h"

#include "tare/error.h"

#include "onnx/inlining.h"
#include "onnx/names.h"

#include <functional>
#include <queue>
#include <utility>

namespace tare {
namespace {

bool is_constant(const onnx::NodeProto& node) {
  return node.op_type() == "Constant" && in_default_domain(node.domain());
}

std::string first_result(const onnx::NodeProto& node) {
  for (const std::string& output : node.output()) {
    if (!output.empty()) {
      return output;
    }
  }
  return {};
}

class Structure {
 public:
  Structure(const onnx::GraphProto& graph, const std::set<std::string>& outside, Source& source)
      : graph_(graph), outside_(outside), source_(source) {}

  void check() {
    for (const auto& tensor : graph_.initializer()) {
      source_.initializers.insert(tensor.name());
      source_.constants[tensor.name()] = {&tensor, nullptr};
      define(tensor.name(), "initializer");
    }
    for (const auto& input : graph_.input()) {
      if (!source_.initializers.contains(input.name())) {
        define(input.name(), "input");
      }
    }
    for (const auto& node : graph_.node()) {
      define_results(node);
    }
    for (const auto& node : graph_.node()) {
      for (const std::string& input : reads_of(node)) {
        require_defined(input, place_of(node));
      }
    }
    if (graph_.output_size() == 0) {
      faults_.add("", "the graph has no outputs");
    }
    std::set<std::string> outputs;
    for (const auto& output : graph_.output()) {
      require_defined(output.name(), "output '" + output.name() + "'");
      if (output.name().empty() || !outputs.insert(output.name()).second) {
        faults_.add("output '" + output.name() + "'", "is listed twice or has no name");
      }
    }
    faults_.raise(ErrorCode::kInvalidModel);
  }

 private:
  void define(const std::string& name, const std::string& kind) {
    if (name.empty()) {
      faults_.add("", "an " + kind + " has no name");
    } else if (!source_.names.insert(name).second) {
      faults_.add(kind + " '" + name + "'", "another value has this name");
    }
  }

  void define_results(const onnx::NodeProto& node) {
    if (node.op_type().empty()) {
      faults_.add(place_of(node), "has no operator");
    }
    if (first_result(node).empty()) {
      faults_.add(place_of(node), "has no results");
    }
    for (const std::string& output : node.output()) {
      if (!output.empty()) {
        define(output, "result");
      }
    }
    if (!is_constant(node)) {
      return;
    }
    if (node.attribute_size() != 1 || node.output_size() != 1) {
      faults_.add(place_of(node),
                  "has " + std::to_string(node.attribute_size()) + " attributes and " +
                      std::to_string(node.output_size()) + " results",
                  "1 of each");
      return;
    }
    source_.constants[node.output(0)] = {nullptr, &node.attribute(0)};
  }

  void require_defined(const std::string& name, const std::string& where) {
    source_.read.insert(name);
    if (!name.empty() && !source_.names.contains(name) && !outside_.contains(name)) {
      faults_.add(where, "nothing produces '" + name + "'");
    }
  }

  const onnx::GraphProto& graph_;
  const std::set<std::string>& outside_;
  Source& source_;
  Faults faults_;
};

/// Producers first; among nodes that are ready, the one stored first.
std::vector<const onnx::NodeProto*> sorted_nodes(const onnx::GraphProto& graph) {
  const auto count = static_cast<std::size_t>(graph.node_size());
  std::map<std::string, int> producers;
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& output : graph.node(i).output()) {
      producers.emplace(output, i);
    }
  }
  std::vector<std::vector<int>> readers(count);
  std::vector<int> missing(count, 0);
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& input : reads_of(graph.node(i))) {
      if (const auto found = producers.find(input);
          !input.empty() && found != producers.end()) {
        readers[static_cast<std::size_t>(found->second)].push_back(i);
        ++missing[static_cast<std::size_t>(i)];
      }
    }
    if (missing[static_cast<std::size_t>(i)] == 0) {
      ready.push(i);
    }
  }
  std::vector<const onnx::NodeProto*> order;
  while (!ready.empty()) {
    const int next = ready.top();
    ready.pop();
    order.push_back(&graph.node(next));
    for (const int reader : readers[static_cast<std::size_t>(next)]) {
      if (--missing[static_cast<std::size_t>(reader)] == 0) {
        ready.push(reader);
      }
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (missing[i] != 0) {
      throw Error(ErrorCode::kInvalidModel, place_of(graph.node(static_cast<int>(i))),
                  "the graph has a cycle through or before this node");
    }
  }
  return order;
}

/// The first node of a name keeps it; the others are named after their first result.
std::map<const onnx::NodeProto*, std::string> unique_names(const onnx::GraphProto& graph) {
  std::map<const onnx::NodeProto*, std::string> result;
  std::set<std::string> taken;
  for (const auto& node : graph.node()) {
    if (!node.name().empty() && taken.insert(node.name()).second) {
      result[&node] = node.name();
    }
  }
  for (const auto& node : graph.node()) {
    std::string& name = result[&node];
    if (name.empty()) {
      name = take_name(taken, first_result(node));
    }
  }
  return result;
}

}  // namespace

Source::Source(const onnx::GraphProto& graph) : Source(graph, {}) {}

Source::Source(const onnx::GraphProto& graph, const std::set<std::string>& outside) {
  Structure(graph, outside, *this).check();
  for (const onnx::NodeProto* node : sorted_nodes(graph)) {
    if (!is_constant(*node)) {
      nodes.push_back(node);
    }
  }
  node_names = unique_names(graph);
  for (const auto& [node, name] : node_names) {
    names.insert(name);
  }
}

std::string place_of(const onnx::NodeProto& node) {
  const std::string name = node.name().empty() ? first_result(node) : node.name();
  return "node '" + name + "' (" + operator_name(node) + ")";
}

std::string operator_name(const onnx::NodeProto& node) {
  return in_default_domain(node.domain()) ? node.op_type()
                                          : node.domain() + "." + node.op_type();
}

bool in_default_domain(const std::string& domain) {
  return domain.empty() || domain == "ai.onnx";
}

}  // namespace tare
