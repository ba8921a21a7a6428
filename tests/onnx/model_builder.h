#pragma once

#include "tare/graph.h"
#include "tare/model_files.h"

#include "support/files/temporary_folder.h"

#include <filesystem>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <onnx/onnx_pb.h>

namespace tare::test {

/// "N" or a number.
struct Dim {
  Dim(int extent) : extent(extent) {}           // NOLINT(google-explicit-constructor)
  Dim(std::int64_t extent) : extent(extent) {}  // NOLINT(google-explicit-constructor)
  Dim(const char* symbol)
      : extent(-1), symbol(symbol) {}  // NOLINT(google-explicit-constructor)
  std::int64_t extent;
  std::string symbol;
};
using Dims = std::vector<Dim>;
/// Replaces the shape of an input or output.
void fill_shape(const Dims&, onnx::ValueInfoProto&);

/// One of a graph inside of a node.
struct InnerNode {
  std::string op;
  std::vector<std::string> inputs;
  std::string output;
};
onnx::GraphProto inner_graph(const std::vector<std::string>& inputs,
                             const std::vector<InnerNode>&,
                             const std::vector<std::string>& outputs);
/// Makes the graph the attribute "body" of the node.
void set_body(onnx::NodeProto&, const onnx::GraphProto&);

/// Writes down models for tests, valid or not.
class ModelBuilder {
 public:
  explicit ModelBuilder(int opset);

  ModelBuilder& input(const std::string& name, const Dims&, DType = DType::kFloat32);
  ModelBuilder& output(const std::string& name);
  ModelBuilder& constant(const std::string& name, const Tensor&);
  ModelBuilder& integers(const std::string& name, const std::vector<std::int64_t>& values);
  /// The node is named after its operator and first output: "Conv_y".
  ModelBuilder& node(const std::string& op, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs, const Attributes& = {});
  /// The node added last.
  onnx::NodeProto& last();

  onnx::ModelProto& proto() { return proto_; }
  onnx::GraphProto& graph() { return *proto_.mutable_graph(); }
  Graph read(const ReadOptions& = {}) const;

 private:
  onnx::ModelProto proto_;
};

void save(const onnx::ModelProto&, const std::filesystem::path&);
onnx::ModelProto load(const std::filesystem::path&);
/// Reads a model from bytes, by way of a file named "model.onnx".
Graph read(const std::string& bytes, const ReadOptions& = {});
/// What reading the model complains about, without the name of the file; "" when it does not.
std::string complaint(const ModelBuilder&, const ReadOptions& = {});

/// "Clip(x,min,max)" for the only node of that operator; absent operands are empty.
std::string call(const Graph&, const std::string& op);
const Node& only(const Graph&, const std::string& op);
std::vector<std::string> operators(const Graph&);  ///< in topological order
/// Operand `i` of the only node of that operator.
const Tensor& operand(const Graph&, const std::string& op, std::size_t i);
Shape shape_of(const Graph&, const std::string& value);

}  // namespace tare::test
