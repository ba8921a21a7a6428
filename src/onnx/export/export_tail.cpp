#include "onnx/export/export_tail.h"

#include "base/check.h"
#include "onnx/export/raise_forms.h"
#include "onnx/inlining.h"
#include "onnx/names.h"
#include "onnx/source.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace tare {
namespace {

constexpr int kNewestOfGraphs = 21;

/// Of ONNX, and of no opset up to that.
bool is_younger(std::string_view op) {
  constexpr std::array<std::string_view, 5> kYounger{
      "Attention", "RMSNormalization", "RotaryEmbedding", "Swish", "TensorScatter"};
  return std::find(kYounger.begin(), kYounger.end(), op) != kYounger.end();
}

}  // namespace

int oldest_opset(const Tail& tail) {
  onnx::GraphProto graph;
  graph.ParseFromString(tail.nodes);
  int opset = 0;
  for (int i = 0; i < graph.node_size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    const int own = tail.opsets[static_cast<std::size_t>(i)];
    if (own > kNewestOfGraphs && in_default_domain(node.domain()) &&
        is_younger(node.op_type())) {
      opset = std::max(opset, own);
    }
  }
  return opset;
}

bool has_names_of_tail(const Graph& graph) {
  const auto& outputs = graph.tail->outputs;
  return std::any_of(outputs.begin(), outputs.end(), [&](const std::string& name) {
    const auto same = graph.find_value(name);
    return same && !graph.is_output(*same);
  });
}

Graph with_names_for_tail(Graph graph) {
  for (const std::string& name : graph.tail->outputs) {
    if (const auto same = graph.find_value(name); same && !graph.is_output(*same)) {
      graph.rename(*same, graph.unique_name(name + "_inner"));
    }
  }
  return graph;
}

void add_tail(const Graph& graph, int opset, onnx::ModelProto& model) {
  const Tail& tail = *graph.tail;
  onnx::GraphProto& proto = *model.mutable_graph();
  std::set<std::string> taken(tail.outputs.begin(), tail.outputs.end());
  for (const auto& tensor : proto.initializer()) {
    taken.insert(tensor.name());
  }
  for (const auto& input : proto.input()) {
    taken.insert(input.name());
  }
  for (const auto& node : proto.node()) {
    taken.insert(node.name());
    taken.insert(node.output().begin(), node.output().end());
  }
  onnx::GraphProto part = raised_tail(tail, opset);
  std::map<std::string, onnx::ValueInfoProto> outputs;
  for (auto& output : *part.mutable_output()) {
    outputs.emplace(output.name(), output);
  }
  rename_graph(part, {}, [&](const std::string& name) {
    return outputs.contains(name) ? name : take_name(taken, name);
  });
  for (auto& node : *part.mutable_node()) {
    proto.add_node()->Swap(&node);
  }
  std::set<std::string> listed(tail.outputs.begin(), tail.outputs.end());
  for (auto& output : *proto.mutable_output()) {
    if (listed.contains(output.name())) {
      outputs.emplace(output.name(), output);
    } else if (const auto id = graph.find_value(output.name()); id && !graph.is_input(*id)) {
      onnx::ValueInfoProto& info = *proto.add_value_info();
      info = output;
      if (!graph.dimension_names.empty()) {
        info.mutable_type()->mutable_tensor_type()->clear_shape();
      }
    }
  }
  proto.clear_output();
  for (const std::string& name : tail.outputs) {
    const auto found = outputs.find(name);
    check(found != outputs.end(), "an output of the model is lost");
    *proto.add_output() = found->second;
  }
  for (const auto& [domain, version] : tail.domains) {
    const auto& imports = model.opset_import();
    if (std::none_of(imports.begin(), imports.end(),
                     [&, &own = domain](const auto& entry) { return entry.domain() == own; })) {
      auto& entry = *model.add_opset_import();
      entry.set_domain(domain);
      entry.set_version(version);
    }
  }
}

}  // namespace tare
