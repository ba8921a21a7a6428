// Graphs inside of nodes: the branches of If. Where the condition is known once shapes are, a
// branch becomes part of the graph around it. Linear in the size of the model, as each branch
// is copied at most once.
#include "onnx/branches.h"

#include "tare/error.h"

#include <map>

namespace tare {
namespace {

std::set<std::string> defined_in(const onnx::GraphProto& graph) {
  std::set<std::string> names;
  for (const auto& tensor : graph.initializer()) {
    names.insert(tensor.name());
  }
  for (const auto& input : graph.input()) {
    names.insert(input.name());
  }
  for (const auto& node : graph.node()) {
    names.insert(node.output().begin(), node.output().end());
  }
  return names;
}

void add_captured(const onnx::GraphProto& graph, std::vector<std::string>& result) {
  const std::set<std::string> own = defined_in(graph);
  const auto add = [&](const std::string& name) {
    if (!name.empty() && !own.contains(name)) {
      result.push_back(name);
    }
  };
  for (const auto& node : graph.node()) {
    for (const std::string& name : reads_of(node)) {
      add(name);
    }
  }
  for (const auto& output : graph.output()) {
    add(output.name());
  }
}

using NewNames = std::map<std::string, std::string>;

/// What inner graphs define under one of these names is theirs and keeps it.
void rename_reads(onnx::NodeProto& node, const NewNames& names) {
  const auto rename = [](std::string& name, const NewNames& by) {
    if (const auto found = by.find(name); found != by.end()) {
      name = found->second;
    }
  };
  for (std::string& input : *node.mutable_input()) {
    rename(input, names);
  }
  for (auto& attribute : *node.mutable_attribute()) {
    if (!attribute.has_g()) {
      continue;
    }
    NewNames outer = names;
    for (const std::string& own : defined_in(attribute.g())) {
      outer.erase(own);
    }
    for (auto& inner : *attribute.mutable_g()->mutable_node()) {
      rename_reads(inner, outer);
    }
    for (auto& output : *attribute.mutable_g()->mutable_output()) {
      rename(*output.mutable_name(), outer);
    }
  }
}

}  // namespace

std::vector<std::string> reads_of(const onnx::NodeProto& node) {
  std::vector<std::string> result(node.input().begin(), node.input().end());
  for (const auto& attribute : node.attribute()) {
    if (attribute.has_g()) {
      add_captured(attribute.g(), result);
    }
  }
  return result;
}

onnx::GraphProto as_part(const onnx::GraphProto& branch,
                         const std::vector<std::string>& results,
                         const std::function<std::string(const std::string&)>& fresh) {
  if (branch.input_size() != 0 || branch.output_size() != static_cast<int>(results.size())) {
    throw Error(ErrorCode::kInvalidModel, "",
                "a branch has " + std::to_string(branch.input_size()) + " inputs and " +
                    std::to_string(branch.output_size()) + " results")
        .expected("none and " + std::to_string(results.size()));
  }
  onnx::GraphProto part = branch;
  NewNames names;
  for (const std::string& name : defined_in(part)) {
    if (!name.empty()) {
      names.emplace(name, fresh(name));
    }
  }
  for (auto& tensor : *part.mutable_initializer()) {
    tensor.set_name(names[tensor.name()]);
  }
  for (auto& node : *part.mutable_node()) {
    rename_reads(node, names);
    for (std::string& output : *node.mutable_output()) {
      output = output.empty() ? "" : names[output];
    }
    if (!node.name().empty()) {
      node.set_name(fresh(node.name()));
    }
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    std::string& output = *part.mutable_output(static_cast<int>(i))->mutable_name();
    if (results[i].empty()) {
      continue;
    }
    const auto own = names.find(output);
    onnx::NodeProto& copy = *part.add_node();
    copy.set_op_type("Identity");
    copy.set_name(fresh(results[i]));
    copy.add_input(own == names.end() ? output : own->second);
    copy.add_output(results[i]);
    output = results[i];
  }
  return part;
}

void for_each_graph(const onnx::GraphProto& graph,
                    const std::function<void(const onnx::GraphProto&)>& f) {
  f(graph);
  for (const auto& node : graph.node()) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) {
        for_each_graph(attribute.g(), f);
      }
    }
  }
}

}  // namespace tare
