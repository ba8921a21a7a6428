#include "conformance/backend_case.h"

#include "tare/error.h"
#include "tare/execute.h"
#include "tare/model_files.h"

#include "onnx/tensor_proto.h"
#include "support/files/temporary_folder.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

namespace tare::test {
namespace {

constexpr int kOldestOpset = 6;

template <class Proto>
Proto read_proto(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  Proto proto;
  if (!proto.ParseFromIstream(&file)) {
    throw std::runtime_error("cannot read " + path.string());
  }
  return proto;
}

/// Operands on whose values, not only shapes, the shape of a result depends, or that ONNX once
/// had as attributes.
const std::map<std::string, std::set<int>> kShapeOperands{
    {"BlackmanWindow", {0}},
    {"Compress", {1}},
    {"ConstantOfShape", {0}},
    {"CumSum", {1}},
    {"DFT", {1}},
    {"Dropout", {1, 2}},
    {"Expand", {1}},
    {"HammingWindow", {0}},
    {"HannWindow", {0}},
    {"If", {0}},
    {"Loop", {0, 1}},
    {"MelWeightMatrix", {0, 1, 2, 3, 4}},
    {"MaxUnpool", {2}},
    {"NonMaxSuppression", {0, 1, 2, 3, 4}},
    {"NonZero", {0}},
    {"OneHot", {1}},
    {"Pad", {1}},
    {"Range", {0, 1, 2}},
    {"ReduceSum", {1}},
    {"Reshape", {1}},
    {"Resize", {1, 2, 3}},
    {"STFT", {1, 3}},
    {"Slice", {1, 2, 3, 4}},
    {"Split", {1}},
    {"Squeeze", {1}},
    {"Tile", {1}},
    {"TopK", {1}},
    {"Trilu", {1}},
    {"Unique", {0}},
    {"Unsqueeze", {1}},
    {"Upsample", {1}},
};

/// With all that they are computed from.
std::set<std::string> shape_operands(const onnx::GraphProto& graph) {
  std::set<std::string> names;
  for (int i = graph.node_size(); i-- > 0;) {
    const onnx::NodeProto& node = graph.node(i);
    const auto found = kShapeOperands.find(node.op_type());
    const bool is_wanted = std::any_of(node.output().begin(), node.output().end(),
                                       [&](const auto& name) { return names.contains(name); });
    for (int k = 0; k < node.input_size(); ++k) {
      const bool is_shape = found != kShapeOperands.end() && found->second.contains(k);
      // These look at the type alone.
      const bool is_read = node.op_type() != "Shape" && node.op_type() != "Size";
      if (is_shape || (is_wanted && is_read)) {
        names.insert(node.input(k));
      }
    }
  }
  return names;
}

/// A model older than the toolkit reads is valid as it is in the oldest opset it does read,
/// when no operator of the model changed between the two.
void raise_opset(onnx::ModelProto& model) {
  for (auto& entry : *model.mutable_opset_import()) {
    const auto opset = static_cast<int>(entry.version());
    if (entry.domain().empty() && opset < kOldestOpset &&
        std::all_of(model.graph().node().begin(), model.graph().node().end(),
                    [&](const onnx::NodeProto& node) {
                      const auto* old = onnx::OpSchemaRegistry::Schema(node.op_type(), opset);
                      const auto* now =
                          onnx::OpSchemaRegistry::Schema(node.op_type(), kOldestOpset);
                      return old != nullptr && now != nullptr &&
                             old->SinceVersion() == now->SinceVersion();
                    })) {
      entry.set_version(kOldestOpset);
    }
  }
}

void refuse_other_domains(const onnx::GraphProto& graph) {
  for (const onnx::NodeProto& node : graph.node()) {
    if (!node.domain().empty() && node.domain() != "com.microsoft") {
      throw NotInScope("operators of domain '" + node.domain() + "'");
    }
  }
}

std::vector<std::filesystem::path> numbered(const std::filesystem::path& folder,
                                            const std::string& stem,
                                            const std::string& suffix) {
  std::vector<std::filesystem::path> found;
  for (std::size_t i = 0;; ++i) {
    auto path = folder / (stem + std::to_string(i) + suffix);
    if (!std::filesystem::exists(path)) {
      return found;
    }
    found.push_back(std::move(path));
  }
}

/// Sequences and optionals are stored in other messages, which parse as tensors without a type.
bool is_tensor(const onnx::ValueInfoProto& value) {
  return value.type().has_tensor_type();
}

std::vector<onnx::ValueInfoProto> runtime_inputs(const onnx::GraphProto& graph) {
  std::set<std::string> initialized;
  for (const auto& initializer : graph.initializer()) {
    initialized.insert(initializer.name());
  }
  std::vector<onnx::ValueInfoProto> inputs;
  for (const auto& input : graph.input()) {
    if (!initialized.contains(input.name())) {
      inputs.push_back(input);
    }
  }
  return inputs;
}

Tensor read_tensor(const std::filesystem::path& path, const onnx::ValueInfoProto& value) try {
  if (!is_tensor(value)) {
    throw NotInScope("values that are no tensors");
  }
  auto proto = read_proto<onnx::TensorProto>(path);
  // NumPy, which wrote the data, has no bfloat16: these are its bits.
  if (value.type().tensor_type().elem_type() == onnx::TensorProto::BFLOAT16 &&
      proto.data_type() == onnx::TensorProto::UINT16) {
    proto.set_data_type(onnx::TensorProto::BFLOAT16);
  }
  return to_tensor(proto, path.parent_path());
} catch (const Error& error) {
  if (error.code() != ErrorCode::kUnsupported) {
    throw;
  }
  throw NotInScope(error.faults().front().what);
}

Graph import(const onnx::ModelProto& model) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "model.onnx";
  {
    std::ofstream stream(file, std::ios::binary);
    model.SerializeToOstream(&stream);
  }
  ReadOptions options;
  options.supported_ops = executable_ops();
  options.evaluate = evaluate;
  options.keeps_tail = true;
  return read_onnx(file, options);
}

}  // namespace

BackendCase::BackendCase(std::filesystem::path folder)
    : folder_(std::move(folder)), data_sets_(numbered(folder_, "test_data_set_", "")) {
  const auto model = read_proto<onnx::ModelProto>(folder_ / "model.onnx");
  for (const onnx::NodeProto& node : model.graph().node()) {
    ops_.push_back(node.op_type());
  }
}

Graph BackendCase::graph(std::size_t data_set) const {
  auto model = read_proto<onnx::ModelProto>(folder_ / "model.onnx");
  onnx::GraphProto& graph = *model.mutable_graph();
  refuse_other_domains(graph);
  const auto constants = shape_operands(graph);
  const auto values = numbered(data_sets_.at(data_set), "input_", ".pb");
  const auto inputs = runtime_inputs(graph);
  for (std::size_t i = 0; i < values.size() && i < inputs.size(); ++i) {
    const std::string& name = inputs[i].name();
    const Tensor tensor = read_tensor(values[i], inputs[i]);
    const auto input =
        std::find_if(graph.mutable_input()->begin(), graph.mutable_input()->end(),
                     [&](const auto& value) { return value.name() == name; });
    if (constants.contains(name)) {
      onnx::TensorProto& initializer = *graph.add_initializer();
      fill_proto(tensor, initializer);
      initializer.set_name(name);
      graph.mutable_input()->erase(input);
      continue;
    }
    auto& shape = *input->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape.clear_dim();
    for (const std::int64_t extent : tensor.shape()) {
      shape.add_dim()->set_dim_value(extent);
    }
  }
  raise_opset(model);
  return import(model);
}

DataSet BackendCase::data(std::size_t data_set) const {
  const auto model = read_proto<onnx::ModelProto>(folder_ / "model.onnx");
  const auto constants = shape_operands(model.graph());
  const auto declared = runtime_inputs(model.graph());
  const auto inputs = numbered(data_sets_.at(data_set), "input_", ".pb");
  const auto outputs = numbered(data_sets_.at(data_set), "output_", ".pb");
  DataSet result;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!constants.contains(declared.at(i).name())) {
      result.inputs.push_back(read_tensor(inputs[i], declared[i]));
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    result.outputs.push_back(
        read_tensor(outputs[i], model.graph().output(static_cast<int>(i))));
  }
  return result;
}

}  // namespace tare::test
