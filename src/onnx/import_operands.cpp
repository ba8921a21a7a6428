// The values that nodes read: of the graph, of those around it, or constants, which enter the
// graph when they are first read.
#include "graph/arithmetic/packed.h"
#include "onnx/constants.h"
#include "onnx/importer.h"
#include "onnx/node_proto.h"
#include "onnx/tensor_proto.h"

#include <utility>

namespace tare {
namespace {

/// Constants of graphs inside of nodes, which are text; larger ones are operands of the node.
constexpr std::int64_t kMostInnerElements = 64;

bool stores_packed(const ConstantSource& source) {
  const onnx::TensorProto& proto =
      source.tensor != nullptr ? *source.tensor : source.attribute->t();
  return dtype_of_packed(proto.data_type()).has_value();
}

}  // namespace

std::optional<std::vector<ValueId>> Importer::operands_of(const onnx::NodeProto& node) {
  std::vector<ValueId> result;
  for (const std::string& name : node.input()) {
    const auto id = name.empty() ? std::optional(ValueId{}) : value_of(name);
    if (!id) {
      return std::nullopt;
    }
    result.push_back(*id);
  }
  return result;
}

std::optional<ValueId> Importer::value_in(std::size_t level, const std::string& name) {
  Scope& scope = scopes_[level];
  Graph& graph = scope.builder.graph();
  if (const auto id = graph.find_value(name)) {
    return id;
  }
  if (level == 0) {
    return model_constant(name);
  }
  const auto outer = value_in(level - 1, name);
  if (!outer) {
    return std::nullopt;
  }
  const GraphBuilder& around = scopes_[level - 1].builder;
  const TensorType& type = around.type(*outer);
  const Tensor* constant = around.graph().constant(*outer);
  if (constant != nullptr && constant->size() <= kMostInnerElements) {
    return graph.add_constant(name, *constant, type);
  }
  const ValueId id = graph.add_input(name, type);
  if (const Tensor* known = around.known(*outer)) {
    scope.builder.assume(id, *known);
  }
  scope.captured.push_back(name);
  return id;
}

std::optional<ValueId> Importer::model_constant(const std::string& name) {
  const auto found = source_.constants.find(name);
  if (found == source_.constants.end() || broken_constants_.contains(name)) {
    return std::nullopt;
  }
  try {
    Tensor tensor = to_constant(found->second);
    TensorType type{.dtype = tensor.dtype(), .shape = tensor.shape(), .quant = {}, .point = {}};
    if (stores_packed(found->second)) {
      type.quant = packed_params(tensor.dtype());
    }
    return scopes_.front().builder.graph().add_constant(name, std::move(tensor),
                                                        std::move(type));
  } catch (Error& error) {
    error.at("constant '" + name + "'");
    if (error.code() != ErrorCode::kUnsupported) {
      throw;
    }
    broken_constants_.emplace(name, error.faults().front());
    return std::nullopt;
  }
}

Tensor Importer::to_constant(const ConstantSource& source) const {
  if (source.tensor != nullptr) {
    return to_tensor(*source.tensor, folder_);
  }
  const Attribute value = to_attribute(*source.attribute, folder_);
  if (const auto* tensor = std::get_if<Tensor>(&value)) {
    return *tensor;
  }
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return Tensor::scalar(*integer);
  }
  if (const auto* real = std::get_if<float>(&value)) {
    return Tensor::scalar(*real);
  }
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
    return vector_of(*integers);
  }
  if (const auto* reals = std::get_if<std::vector<float>>(&value)) {
    return vector_of(*reals);
  }
  throw Error(ErrorCode::kUnsupported, "", "element type STRING is not supported");
}

}  // namespace tare
