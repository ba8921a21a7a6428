#include "tare/error.h"
#include "tare/graph.h"

#include "base/input_file.h"
#include "graph/operators/float_types.h"
#include "onnx/domains.h"
#include "onnx/importer.h"
#include "onnx/interface.h"
#include "onnx/layer_names.h"
#include "onnx/parse_model.h"

#include <algorithm>
#include <vector>

namespace tare {
namespace {

/// What a learned model of another kind is; empty for what may be part of a network.
std::string other_kind(const onnx::NodeProto& node) {
  if (node.domain() != "ai.onnx.ml") {
    return {};
  }
  const std::string& op = node.op_type();
  return op.starts_with("TreeEnsemble") ? "decision trees"
         : op.starts_with("SVM")        ? "a support vector machine"
         : op.starts_with("Linear")     ? "a linear model"
                                        : "";
}

/// Learned models of other kinds are stored in this format too. Behind a network they are its
/// end.
void require_network(const onnx::ModelProto& model) {
  const auto& nodes = model.graph().node();
  if (std::any_of(nodes.begin(), nodes.end(), [](const onnx::NodeProto& node) {
        return may_be_layer(node.op_type()) || is_product(node.op_type());
      })) {
    return;
  }
  for (const onnx::NodeProto& node : nodes) {
    if (const std::string kind = other_kind(node); !kind.empty()) {
      throw Error(ErrorCode::kUnsupported, place_of(node),
                  "this is no neural network but " + kind);
    }
  }
}

/// Where the importer names an older opset, which has the same operators, most of them would
/// lose bfloat16.
void keep_opset_of_bfloat16(const onnx::ModelProto& model, Graph& graph) {
  const auto& opsets = model.opset_import();
  const std::vector<ValueId> values = graph.values();
  if (std::any_of(opsets.begin(), opsets.end(),
                  [](const auto& entry) {
                    return in_default_domain(entry.domain()) &&
                           entry.version() >= kOpsetOfBfloat16;
                  }) &&
      std::any_of(values.begin(), values.end(),
                  [&](ValueId id) { return graph.type(id).dtype == DType::kBfloat16; })) {
    graph.opset = kOpsetOfBfloat16;
  }
}

}  // namespace

Graph read_onnx(const std::filesystem::path& path, const ReadOptions& options) {
  const InputFile file(path);
  try {
    // Elements go from the file to tensors without a copy in between. What is a link may lead
    // out of its folder, where nothing is read from.
    const onnx::ModelProto model = std::filesystem::is_symlink(path)
                                       ? parse_model(file)
                                       : parse_referring(file, path.filename().string());
    require_network(model);
    Graph graph = Importer(model, path.parent_path(), options).run();
    keep_opset_of_bfloat16(model, graph);
    return graph;
  } catch (Error& error) {
    error.at(path.string());
    throw;
  }
}

std::vector<ModelInput> read_onnx_inputs(const std::filesystem::path& path) {
  const InputFile file(path);
  try {
    return declared_model_inputs(parse_without_weights(file).graph());
  } catch (Error& error) {
    error.at(path.string());
    throw;
  }
}

}  // namespace tare
