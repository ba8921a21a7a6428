// Graphs inside of nodes read values around them by name, so what a node captured goes back
// from operands to names. Names inside are unique in the whole file, as ONNX wants it.
#include "tare/graph.h"

#include "graph/operators/inner_graphs.h"
#include "onnx/export/export_node.h"
#include "onnx/inlining.h"
#include "onnx/names.h"
#include "onnx/node_proto.h"

#include <map>
#include <set>

namespace tare {
namespace {

/// `captured`: the names around the graph of inputs that stand for values there. Where extents
/// around the graph may vary, those in it may, too.
onnx::GraphProto inner_proto(const Graph& graph, int opset,
                             const std::map<std::string, std::string>& captured,
                             bool may_vary) {
  ExportedModel model;
  NodeExporter exporter(graph, opset, model, may_vary);
  for (const ValueId id : graph.values()) {
    if (const Tensor* tensor = graph.constant(id)) {
      exporter.add_initializer(graph.name(id), *tensor);
    }
  }
  for (const NodeId id : graph.topological_order()) {
    exporter.add(graph.node(id));
  }
  onnx::GraphProto proto = std::move(*model.proto.mutable_graph());
  proto.set_name(graph.graph_name);
  for (int i = 0; i < proto.initializer_size(); ++i) {
    const Tensor& tensor = model.constants[static_cast<std::size_t>(i)];
    proto.mutable_initializer(i)->set_raw_data(tensor.data(), tensor.byte_size());
  }
  const auto fill = [&](ValueId id, onnx::ValueInfoProto& info) {
    info.set_name(graph.name(id));
    fill_type(graph.type(id), {}, *info.mutable_type());
    if (may_vary) {
      clear_extents(*info.mutable_type());
    }
  };
  for (const ValueId id : graph.inputs()) {
    if (!captured.contains(graph.name(id))) {
      fill(id, *proto.add_input());
    }
  }
  for (const ValueId id : graph.outputs()) {
    fill(id, *proto.add_output());
  }
  return proto;
}

/// Everything that has a name in the graph and in those inside of it.
std::set<std::string> names_within(const onnx::GraphProto& proto) {
  std::set<std::string> names;
  for_each_graph(proto, [&](const onnx::GraphProto& graph) {
    for (const auto& tensor : graph.initializer()) {
      names.insert(tensor.name());
    }
    for (const auto& input : graph.input()) {
      names.insert(input.name());
    }
    for (const auto& node : graph.node()) {
      names.insert(node.name());
      names.insert(node.output().begin(), node.output().end());
    }
  });
  return names;
}

}  // namespace

void NodeExporter::add_control(const Node& node) {
  Attributes attributes = node.attributes;
  attributes.erase("captured");
  const std::vector<std::string> names = captured_names(node);
  const std::size_t own = own_operands(node);
  std::map<std::string, std::string> captured;
  for (std::size_t i = 0; i < names.size(); ++i) {
    captured[names[i]] = graph_.name(node.inputs[own + i]);
  }
  std::map<std::string, onnx::GraphProto> graphs;
  for (const std::string& attribute : graph_attributes(node.op)) {
    attributes.erase(attribute);
    onnx::GraphProto& inner = graphs
                                  .emplace(attribute, inner_proto(inner_graph(node, attribute),
                                                                  opset_, captured, may_vary_))
                                  .first->second;
    // A name that a graph further inside has is not fresh: what reads the value would read that
    // one there.
    const std::set<std::string> theirs = names_within(inner);
    rename_graph(inner, captured, [&](const std::string& name) {
      std::string made = take_name(names_, name);
      while (made != name && theirs.contains(made)) {
        made = take_name(names_, name);
      }
      return made;
    });
  }
  onnx::NodeProto proto = to_node_proto(node.name, node.op, attributes);
  for (std::size_t i = 0; i < own; ++i) {
    proto.add_input(node.inputs[i] ? graph_.name(node.inputs[i]) : std::string());
  }
  for (const ValueId output : node.outputs) {
    proto.add_output(graph_.name(output));
  }
  for (auto& [attribute, graph] : graphs) {
    onnx::AttributeProto& held = *proto.add_attribute();
    held.set_name(attribute);
    held.set_type(onnx::AttributeProto::GRAPH);
    *held.mutable_g() = std::move(graph);
  }
  append(std::move(proto));
}

}  // namespace tare
