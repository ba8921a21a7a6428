#include "onnx/export/export_node.h"

#include "tare/error.h"
#include "tare/graph.h"

#include "graph/arithmetic/packed.h"
#include "graph/operators/detection_post_process.h"
#include "graph/operators/inner_graphs.h"
#include "graph/text/spelled_in_parts.h"
#include "onnx/constants.h"
#include "onnx/domains.h"
#include "onnx/export/detection_function.h"
#include "onnx/names.h"
#include "onnx/node_proto.h"
#include "onnx/tensor_proto.h"
#include "onnx/younger_operators.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <span>
#include <utility>

#include <onnx/defs/schema.h>

namespace tare {
namespace {

constexpr int kOldest = 13;
constexpr int kNewestOfLibrary = 17;
constexpr int kAxesAreOperands = 18;  // of reductions; Split wants the number of its results
constexpr int kGridSampleModes = 20;
constexpr int kAxisOfDftIsOperand = 20;

/// Operands up to the last one that is there: engines count those that are listed.
std::span<const ValueId> listed_operands(const Node& node) {
  const auto last = std::find_if(node.inputs.rbegin(), node.inputs.rend(),
                                 [](ValueId input) { return static_cast<bool>(input); });
  return {node.inputs.begin(), last.base()};
}

/// The node as it stands in the graph.
onnx::NodeProto spelled(const Graph& graph, const Node& node) {
  onnx::NodeProto proto = to_node_proto(node.name, node.op, node.attributes);
  if (const std::string_view domain = domain_of(node.op); !domain.empty()) {
    proto.set_domain(std::string(domain));
  }
  for (const ValueId input : listed_operands(node)) {
    proto.add_input(input ? graph.name(input) : std::string());
  }
  for (const ValueId output : node.outputs) {
    proto.add_output(graph.name(output));
  }
  return proto;
}

bool accepts(int opset, const onnx::NodeProto& proto) {
  const auto* schema = onnx::OpSchemaRegistry::Schema(proto.op_type(), opset, "");
  if (schema == nullptr) {
    return false;
  }
  try {
    schema->Verify(proto);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

/// Of 16 bits, packed ones of 4, or in blocks.
bool has_newer_storage(const Graph& graph, const Node& node) {
  const bool quantizes = node.op == "QuantizeLinear";
  if (!quantizes && node.op != "DequantizeLinear") {
    return false;
  }
  const TensorType& type = graph.type(quantizes ? node.outputs[0] : node.inputs[0]);
  return type.dtype == DType::kInt16 || type.dtype == DType::kUint16 || is_packed(type) ||
         node.attributes.has("block_size");
}

bool is_reduction_with_attribute(const Node& node) {
  return node.op.starts_with("Reduce") && node.op != "ReduceSum";
}

}  // namespace

std::string region_domain(const Node& region) {
  return region.attributes.text("domain", kOwnDomain);
}

int oldest_opset(const Graph& graph, const Node& node) {
  if (first_opset_of(node.op) > 0 || !domain_of(node.op).empty() || node.op == "Region" ||
      node.op == kDetectionPostProcess) {
    return kOldest;  // spelled out where it does not exist; not one of ONNX
  }
  if (const auto graphs = graph_attributes(node.op); !graphs.empty()) {
    int opset = kOldest;
    for (const std::string& attribute : graphs) {
      const Graph inner = inner_graph(node, attribute);
      for (const NodeId id : inner.nodes()) {
        opset = std::max(opset, oldest_opset(inner, inner.node(id)));
      }
    }
    return opset;
  }
  if (has_newer_storage(graph, node)) {
    return 21;
  }
  if (node.op == "AveragePool" && node.attributes.has("dilations")) {
    return 19;
  }
  if ((node.op == "LpPool" &&
       (node.attributes.has("dilations") || node.attributes.has("ceil_mode"))) ||
      (node.op == "Resize" && node.attributes.has("antialias"))) {
    return 18;
  }
  if (node.op == "Pad" && node.attributes.text("mode", "constant") == "wrap") {
    return 19;
  }
  if (const YoungerOperator* younger = find_younger_operator(node.op)) {
    return younger->first_opset;
  }
  const onnx::NodeProto proto = spelled(graph, node);
  for (int opset = kOldest; opset <= kNewestOfLibrary; ++opset) {
    if (accepts(opset, proto)) {
      return opset;
    }
  }
  throw Error(ErrorCode::kInternal, "node '" + node.name + "' (" + node.op + ")",
              "has no form in ONNX");
}

NodeExporter::NodeExporter(const Graph& graph, int opset, ExportedModel& model, bool may_vary)
    : graph_(graph), opset_(opset), model_(model), may_vary_(may_vary) {
  for (const ValueId id : graph.values()) {
    names_.insert(graph.name(id));
  }
  for (const NodeId id : graph.nodes()) {
    names_.insert(graph.node(id).name);
  }
}

void NodeExporter::add(const Node& node) {
  if (node.op == "Region") {
    add_region(node);
  } else if (node.op == kDetectionPostProcess) {
    add_detection(node);
  } else if (!graph_attributes(node.op).empty()) {
    add_control(node);
  } else if (node.op == "Gelu" && opset_ < first_opset_of(node.op)) {
    add_gelu(node);
  } else if (node.op == "Rsqrt") {
    add_rsqrt(node);
  } else if (is_reduction_with_attribute(node) && opset_ >= kAxesAreOperands) {
    add_reduce(node);
  } else if (node.op == "DFT" && opset_ >= kAxisOfDftIsOperand) {
    add_dft(node);
  } else if (node.op == "Split" && node.inputs.size() == 1 && opset_ >= kAxesAreOperands) {
    add_split(node);
  } else if (node.op == "GridSample" && opset_ >= kGridSampleModes) {
    Node renamed = node;
    const std::string mode = node.attributes.text("mode", "bilinear");
    renamed.attributes.set("mode", mode == "bilinear"  ? std::string("linear")
                                   : mode == "bicubic" ? std::string("cubic")
                                                       : mode);
    append(spelled(graph_, renamed));
  } else {
    append(spelled(graph_, node));
  }
}

void NodeExporter::add_initializer(const std::string& name, const Tensor& tensor) {
  auto& proto = *model_.proto.mutable_graph()->add_initializer();
  proto.set_name(name);
  fill_header(tensor, proto);
  model_.constants.push_back(tensor);
}

void NodeExporter::add_packed_initializer(const std::string& name, const Tensor& integers) {
  auto& proto = *model_.proto.mutable_graph()->add_initializer();
  proto.set_name(name);
  fill_packed_header(integers, proto);
  model_.constants.push_back(packed(integers));
}

void NodeExporter::add_detection(const Node& node) {
  onnx::NodeProto& proto = append(spelled(graph_, node));
  const std::string name = detection_name(node.attributes);
  proto.set_domain(std::string(kOwnDomain));
  proto.set_op_type(name);
  const auto& functions = model_.proto.functions();
  if (std::none_of(functions.begin(), functions.end(),
                   [&](const onnx::FunctionProto& known) { return known.name() == name; })) {
    *model_.proto.add_functions() = detection_function(name, opset_);
  }
}

void NodeExporter::add_dft(const Node& node) {
  Node plain = node;
  plain.attributes.erase("axis");
  onnx::NodeProto& proto = append(spelled(graph_, plain));
  if (proto.input_size() == 1) {
    proto.add_input("");
  }
  const std::string name = take_name(names_, node.name + "_axis");
  proto.add_input(name);
  add_initializer(name, Tensor::scalar(node.attributes.integer("axis", 1)));
}

void NodeExporter::add_reduce(const Node& node) {
  Node plain = node;
  plain.attributes.erase("axes");
  onnx::NodeProto& proto = append(spelled(graph_, plain));
  const std::vector<std::int64_t> axes = node.attributes.integers("axes", {});
  if (!axes.empty()) {
    const std::string name = take_name(names_, node.name + "_axes");
    proto.add_input(name);
    add_initializer(name, vector_of(axes));
  }
}

/// Its graph stays text, which is for readers that do not have the operator.
void NodeExporter::add_region(const Node& node) {
  Node named = node;
  named.op = node.attributes.text("op_type", node.op);
  named.attributes.erase("op_type");
  named.attributes.erase("domain");
  append(spelled(graph_, named)).set_domain(region_domain(node));
}

void NodeExporter::add_split(const Node& node) {
  Node counted = node;
  counted.attributes.set("num_outputs", static_cast<std::int64_t>(node.outputs.size()));
  append(spelled(graph_, counted));
}

onnx::NodeProto& NodeExporter::append(onnx::NodeProto proto) {
  return *model_.proto.mutable_graph()->add_node() = std::move(proto);
}

std::string NodeExporter::add_step(const Node& whole, const char* op,
                                   std::vector<std::string> inputs, const char* name) {
  std::string own = name != nullptr ? take_name(names_, whole.name + "_" + name)
                                    : graph_.name(whole.outputs[0]);
  onnx::NodeProto& proto = append(to_node_proto(name != nullptr ? own : whole.name, op, {}));
  for (std::string& input : inputs) {
    proto.add_input(std::move(input));
  }
  proto.add_output(own);
  return own;
}

void NodeExporter::add_rsqrt(const Node& node) {
  const std::string root = add_step(node, "Sqrt", {graph_.name(node.inputs[0])}, "root");
  (void)add_step(node, "Reciprocal", {root}, nullptr);
}

void NodeExporter::add_gelu(const Node& node) {
  const TensorType& type = graph_.type(node.outputs[0]);
  const std::string x = graph_.name(node.inputs[0]);
  const auto constant = [&](const char* what, double value) {
    std::string name = take_name(names_, node.name + "_" + what);
    add_initializer(name, filled(type.dtype, {}, value));
    return name;
  };
  const auto step = [&](const char* op, std::vector<std::string> inputs, const char* name) {
    return add_step(node, op, std::move(inputs), name);
  };
  std::string gate;
  if (node.attributes.text("approximate", "none") == "tanh") {
    const std::string cube = step("Pow", {x, constant("three", 3)}, "cube");
    const std::string bend = step("Mul", {cube, constant("bend", 0.044715)}, "bent");
    const std::string inner = step("Add", {x, bend}, "inner");
    const std::string scale = constant("slope", std::sqrt(2 * std::numbers::inv_pi));
    gate = step("Tanh", {step("Mul", {inner, scale}, "scaled")}, "tanh");
  } else {
    const std::string scaled =
        step("Div", {x, constant("sqrt2", std::numbers::sqrt2)}, "scaled");
    gate = step("Erf", {scaled}, "erf");
  }
  const std::string shifted = step("Add", {gate, constant("one", 1)}, "shifted");
  const std::string product = step("Mul", {x, shifted}, "product");
  (void)step("Mul", {product, constant("half", 0.5)}, nullptr);
}

void fill_type(const TensorType& type, const std::vector<std::string>& symbols,
               onnx::TypeProto& proto) {
  auto& tensor = *proto.mutable_tensor_type();
  tensor.set_elem_type(onnx_data_type(type.dtype));
  auto& shape = *tensor.mutable_shape();
  for (std::size_t axis = 0; axis < type.shape.size(); ++axis) {
    auto& dim = *shape.add_dim();
    if (axis < symbols.size() && !symbols[axis].empty()) {
      dim.set_dim_param(symbols[axis]);
    } else {
      dim.set_dim_value(type.shape[axis]);
    }
  }
}

void clear_extents(onnx::TypeProto& type) {
  for (auto& dim : *type.mutable_tensor_type()->mutable_shape()->mutable_dim()) {
    dim.clear_dim_value();
  }
}

}  // namespace tare
