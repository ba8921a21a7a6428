
#include "tare/graph.h"
#include "tare/model_files.h"

#include "base/version.h"
#include "graph/arithmetic/packed.h"
#include "graph/operators/detection_post_process.h"
#include "onnx/domains.h"
#include "onnx/export/export_model.h"
#include "onnx/export/export_tail.h"
#include "onnx/model_file.h"
#include "onnx/tensor_proto.h"

#include <algorithm>
#include <set>
#include <vector>

namespace tare {
namespace {

constexpr int kOldestWritten = 13;  // the forms of the IR's operators are those of 13 to 17

constexpr std::int64_t kFirstWithFunctions = 8;  // of IR versions

/// The IR version that came with an opset.
int ir_version_of(int opset) {
  return opset <= 14 ? 7 : opset <= 18 ? 8 : opset <= 20 ? 9 : opset <= 22 ? 10 : 11;
}

std::vector<std::string> symbols_of(const Graph& graph, ValueId id) {
  const auto found = graph.dimension_names.find(graph.name(id));
  return found == graph.dimension_names.end() ? std::vector<std::string>{} : found->second;
}

void add_domain(std::string_view domain, int version, onnx::ModelProto& proto) {
  auto& entry = *proto.add_opset_import();
  entry.set_domain(std::string(domain));
  entry.set_version(version);
}

void fill_interface(const Graph& graph, onnx::GraphProto& proto) {
  for (const ValueId id : graph.inputs()) {
    auto& info = *proto.add_input();
    info.set_name(graph.name(id));
    fill_type(graph.type(id), symbols_of(graph, id), *info.mutable_type());
  }
  for (const ValueId id : graph.outputs()) {
    auto& info = *proto.add_output();
    info.set_name(graph.name(id));
    fill_type(graph.type(id), symbols_of(graph, id), *info.mutable_type());
  }
}

/// Where inputs may vary, so may what is computed from them, and the extents they are bound to
/// here would be wrong: only how many there are.
void fill_value_info(const Graph& graph, const Node& node, onnx::GraphProto& proto) {
  for (const ValueId id : node.outputs) {
    if (graph.is_output(id)) {
      continue;
    }
    auto& info = *proto.add_value_info();
    info.set_name(graph.name(id));
    fill_type(graph.type(id), {}, *info.mutable_type());
    if (!graph.dimension_names.empty()) {
      clear_extents(*info.mutable_type());
    }
  }
}

}  // namespace

ExportedModel export_model(const Graph& graph,
                           const std::map<std::string, std::string>& metadata) {
  if (!graph.file_types.empty()) {
    return export_model(in_file_types(graph), metadata);
  }
  if (graph.tail && has_names_of_tail(graph)) {
    return export_model(with_names_for_tail(graph), metadata);
  }
  const std::vector<NodeId> order = graph.topological_order();
  int opset = std::max(graph.opset, kOldestWritten);
  for (const NodeId id : order) {
    opset = std::max(opset, oldest_opset(graph, graph.node(id)));
  }
  if (graph.tail) {
    opset = std::max(opset, oldest_opset(*graph.tail));
  }
  ExportedModel model;
  model.proto.set_ir_version(ir_version_of(opset));
  model.proto.set_producer_name("tare");
  model.proto.set_producer_version(version());
  add_domain("", opset, model.proto);
  const bool needs_runtime = std::any_of(order.begin(), order.end(), [&](NodeId id) {
    return domain_of(graph.node(id).op) == kRuntimeDomain;
  });
  if (needs_runtime) {
    add_domain(kRuntimeDomain, 1, model.proto);
  }
  std::set<std::string> domains;
  for (const NodeId id : order) {
    if (graph.node(id).op == "Region") {
      domains.insert(region_domain(graph.node(id)));
    } else if (graph.node(id).op == kDetectionPostProcess) {
      domains.insert(std::string(kOwnDomain));
      model.proto.set_ir_version(
          std::max<std::int64_t>(model.proto.ir_version(), kFirstWithFunctions));
    }
  }
  for (const std::string& domain : domains) {
    add_domain(domain, 1, model.proto);
  }
  for (const auto& [key, value] : metadata) {
    auto& entry = *model.proto.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  onnx::GraphProto& proto = *model.proto.mutable_graph();
  // ONNX wants some name.
  proto.set_name(graph.graph_name.empty() ? "graph" : graph.graph_name);
  fill_interface(graph, proto);
  NodeExporter exporter(graph, opset, model, !graph.dimension_names.empty());
  for (const ValueId id : graph.values()) {
    if (const Tensor* tensor = graph.constant(id)) {
      if (is_packed(graph.type(id))) {
        exporter.add_packed_initializer(graph.name(id), *tensor);
      } else {
        exporter.add_initializer(graph.name(id), *tensor);
      }
    }
  }
  for (const NodeId id : order) {
    exporter.add(graph.node(id));
    fill_value_info(graph, graph.node(id), proto);
  }
  if (graph.tail) {
    add_tail(graph, opset, model.proto);
  }
  return model;
}

void write_onnx(const Graph& graph, const std::filesystem::path& path,
                const std::map<std::string, std::string>& metadata) {
  save_model(export_model(graph, metadata), path);
}

std::uintmax_t written_bytes(const Graph& graph, const std::filesystem::path& path,
                             const std::map<std::string, std::string>& metadata) {
  return saved_bytes(export_model(graph, metadata), path);
}

}  // namespace tare
