#include "onnx/parse_model.h"

#include "tare/error.h"
#include "tare/model_files.h"

#include "onnx/inlining.h"
#include "onnx/input_names.h"
#include "onnx/tensor_proto.h"

#include <google/protobuf/stubs/logging.h>

namespace tare {

onnx::ModelProto parse_model(const InputFile& file) {
  onnx::ModelProto model;
  const google::protobuf::LogSilencer silent;
  if (!model.ParseFromFileDescriptor(file.descriptor())) {
    throw Error(ErrorCode::kInvalidModel, "", "is not an ONNX model, or is cut short");
  }
  if (!model.has_graph()) {
    throw Error(ErrorCode::kInvalidModel, "", "is not an ONNX model: it has no graph");
  }
  return model;
}

std::vector<std::string> input_names(const std::filesystem::path& path) {
  const InputFile file(path);
  try {
    const onnx::ModelProto model = parse_model(file);
    std::set<std::string> constants;
    for (const auto& constant : model.graph().initializer()) {
      constants.insert(constant.name());
    }
    std::vector<std::string> names;
    for (const auto& input : model.graph().input()) {
      if (!constants.contains(input.name())) {
        names.push_back(input.name());
      }
    }
    return names;
  } catch (Error& error) {
    error.at(path.string());
    throw;
  }
}

std::map<std::string, std::string> read_metadata(const std::filesystem::path& path) {
  const InputFile file(path);
  try {
    const onnx::ModelProto model = parse_model(file);
    std::map<std::string, std::string> metadata;
    for (const auto& entry : model.metadata_props()) {
      metadata[entry.key()] = entry.value();
    }
    return metadata;
  } catch (Error& error) {
    error.at(path.string());
    throw;
  }
}

std::set<std::filesystem::path> external_files(const std::filesystem::path& path) {
  const InputFile file(path);
  try {
    const onnx::ModelProto model = parse_model(file);
    std::set<std::filesystem::path> files;
    const auto add = [&](const onnx::TensorProto& tensor) {
      if (auto data = external_file(tensor, path.parent_path())) {
        files.insert(*std::move(data));
      }
    };
    for_each_graph(model.graph(), [&](const onnx::GraphProto& graph) {
      for (const onnx::TensorProto& tensor : graph.initializer()) {
        add(tensor);
      }
      for (const onnx::NodeProto& node : graph.node()) {
        for (const onnx::AttributeProto& attribute : node.attribute()) {
          add(attribute.t());
        }
      }
    });
    return files;
  } catch (Error& error) {
    error.at(path.string());
    throw;
  }
}

}  // namespace tare
