#include "onnx/model_builder.h"

#include "tare/error.h"

#include "onnx/node_proto.h"
#include "onnx/tensor_proto.h"

#include <fstream>

#include <gtest/gtest.h>

namespace tare::test {

void fill_shape(const Dims& dims, onnx::ValueInfoProto& info) {
  auto& shape = *info.mutable_type()->mutable_tensor_type()->mutable_shape();
  shape.clear_dim();
  for (const Dim& dim : dims) {
    auto& added = *shape.add_dim();
    if (!dim.symbol.empty()) {
      added.set_dim_param(dim.symbol);
    } else if (dim.extent >= 0) {
      added.set_dim_value(dim.extent);
    }
  }
}

ModelBuilder::ModelBuilder(int opset) {
  proto_.set_ir_version(7);
  proto_.add_opset_import()->set_version(opset);
  graph().set_name("test");
}

ModelBuilder& ModelBuilder::input(const std::string& name, const Dims& dims, DType dtype) {
  auto& info = *graph().add_input();
  info.set_name(name);
  info.mutable_type()->mutable_tensor_type()->set_elem_type(onnx_data_type(dtype));
  fill_shape(dims, info);
  return *this;
}

ModelBuilder& ModelBuilder::output(const std::string& name) {
  graph().add_output()->set_name(name);
  return *this;
}

ModelBuilder& ModelBuilder::constant(const std::string& name, const Tensor& tensor) {
  auto& proto = *graph().add_initializer();
  proto.set_name(name);
  fill_proto(tensor, proto);
  return *this;
}

ModelBuilder& ModelBuilder::integers(const std::string& name,
                                     const std::vector<std::int64_t>& values) {
  return constant(name, Tensor::of({static_cast<std::int64_t>(values.size())}, values));
}

ModelBuilder& ModelBuilder::node(const std::string& op, const std::vector<std::string>& inputs,
                                 const std::vector<std::string>& outputs,
                                 const Attributes& attributes) {
  onnx::NodeProto& node = *graph().add_node();
  node = to_node_proto(op + "_" + outputs.front(), op, attributes);
  for (const std::string& name : inputs) {
    node.add_input(name);
  }
  for (const std::string& name : outputs) {
    node.add_output(name);
  }
  return *this;
}

onnx::GraphProto inner_graph(const std::vector<std::string>& inputs,
                             const std::vector<InnerNode>& nodes,
                             const std::vector<std::string>& outputs) {
  onnx::GraphProto graph;
  graph.set_name("body");
  for (const std::string& input : inputs) {
    graph.add_input()->set_name(input);
  }
  for (const InnerNode& node : nodes) {
    onnx::NodeProto& added = *graph.add_node();
    added.set_op_type(node.op);
    added.mutable_input()->Add(node.inputs.begin(), node.inputs.end());
    added.add_output(node.output);
  }
  for (const std::string& output : outputs) {
    graph.add_output()->set_name(output);
  }
  return graph;
}

void set_body(onnx::NodeProto& node, const onnx::GraphProto& graph) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name("body");
  attribute.set_type(onnx::AttributeProto::GRAPH);
  *attribute.mutable_g() = graph;
}

onnx::NodeProto& ModelBuilder::last() {
  return *graph().mutable_node(graph().node_size() - 1);
}

Graph ModelBuilder::read(const ReadOptions& options) const {
  return test::read(proto_.SerializeAsString(), options);
}

void save(const onnx::ModelProto& model, const std::filesystem::path& path) {
  std::ofstream file(path, std::ios::binary);
  ASSERT_TRUE(model.SerializeToOstream(&file));
}

onnx::ModelProto load(const std::filesystem::path& path) {
  onnx::ModelProto model;
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(model.ParseFromIstream(&file)) << path;
  return model;
}

Graph read(const std::string& bytes, const ReadOptions& options) {
  const TemporaryFolder folder;
  std::ofstream(folder / "model.onnx", std::ios::binary) << bytes;
  return read_onnx(folder / "model.onnx", options);
}

std::string complaint(const ModelBuilder& model, const ReadOptions& options) {
  try {
    (void)model.read(options);
    return {};
  } catch (const Error& error) {
    std::string result;
    for (const Fault& fault : error.faults()) {
      const auto name = fault.where.find("model.onnx");
      EXPECT_NE(name, std::string::npos) << fault.where;
      const std::string where = fault.where.substr(name + std::string("model.onnx").size());
      result += result.empty() ? "" : "\n";
      result += (where.empty() ? "" : where.substr(2) + ": ") + fault.what;
      result += fault.expected.empty() ? "" : ", expected " + fault.expected;
    }
    return result;
  }
}

const Node& only(const Graph& graph, const std::string& op) {
  const Node* found = nullptr;
  for (const NodeId id : graph.nodes()) {
    if (graph.node(id).op == op) {
      EXPECT_EQ(found, nullptr) << "several " << op;
      found = &graph.node(id);
    }
  }
  if (found == nullptr) {
    throw std::logic_error("no " + op);
  }
  return *found;
}

std::string call(const Graph& graph, const std::string& op) {
  std::string result = op + "(";
  const Node& node = only(graph, op);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    result +=
        (i == 0 ? "" : ",") + (node.inputs[i] ? graph.name(node.inputs[i]) : std::string());
  }
  return result + ")";
}

std::vector<std::string> operators(const Graph& graph) {
  std::vector<std::string> result;
  for (const NodeId id : graph.topological_order()) {
    result.push_back(graph.node(id).op);
  }
  return result;
}

Shape shape_of(const Graph& graph, const std::string& value) {
  return graph.type(*graph.find_value(value)).shape;
}

const Tensor& operand(const Graph& graph, const std::string& op, std::size_t i) {
  const Tensor* tensor = graph.constant(only(graph, op).inputs.at(i));
  if (tensor == nullptr) {
    throw std::logic_error("operand of " + op + " is not a constant");
  }
  return *tensor;
}

}  // namespace tare::test
