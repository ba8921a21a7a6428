#include "lower/forms/storage_form.h"

#include "graph/ir/derived_names.h"
#include "graph/operators/affine_ops.h"

#include <algorithm>
#include <array>

namespace tare {
namespace {

/// Operators that ONNX, or the CPU provider of ONNX Runtime, has for real values only.
bool lacks_bytes(const Node& node, DType storage) {
  return node.op == "GlobalMaxPool" || node.op == "SpaceToDepth" || node.op == "TopK" ||
         (node.op == "DepthToSpace" && storage == DType::kInt8);
}

}  // namespace

bool is_byte(const TensorType& type) {
  return type.quant &&
         (type.quant->storage == DType::kInt8 || type.quant->storage == DType::kUint8);
}

bool has_one_zero_point(const QuantParams& params) {
  return std::all_of(params.zero_point.begin(), params.zero_point.end(),
                     [&](std::int32_t zero) { return zero == params.zero_point[0]; });
}

std::optional<ProductNode> product_of(const Graph& graph, const Node& node) {
  constexpr std::array kOps{"Conv", "Gemm", "MatMul"};
  if (std::find(kOps.begin(), kOps.end(), node.op) == kOps.end() ||
      !is_accumulator(graph.type(node.outputs[0]))) {
    return std::nullopt;
  }
  const ProductNode product{node, graph.type(node.inputs[0]), graph.type(node.inputs[1]),
                            node.inputs.size() > 2 ? node.inputs[2] : ValueId{}};
  const bool fits = is_byte(product.x) && is_byte(product.w) && product.x.shape.size() >= 2 &&
                    product.w.shape.size() >= 2 && has_one_zero_point(*product.w.quant);
  return fits ? std::optional(product) : std::nullopt;
}

bool StorageFormBuilder::move(const Node& node) {
  const AffineOp* row = find_affine_op(from(), node);
  if (row == nullptr || !is_byte(from().type(node.inputs[0])) ||
      lacks_bytes(node, params(node.inputs[0]).storage)) {
    return false;
  }
  if (node.op == "Relu") {
    return rectify(node);
  }
  if (node.op == "Clip") {
    return clip(node);
  }
  if (node.op == "Pad") {
    return pad(node);
  }
  if (node.op == "Concat") {
    return concatenate(node);
  }
  if (row->rule != AffineRule::kMoves && row->rule != AffineRule::kCompares) {
    return false;
  }
  std::vector<ValueId> operands{storage(node.inputs[0])};
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    operands.push_back(node.inputs[i] ? expressed(node.inputs[i]) : ValueId{});
  }
  move(node, node.op, std::move(operands));
  return true;
}

/// Max with the zero point; ONNX Runtime has no Max of bytes.
bool StorageFormBuilder::rectify(const Node& node) {
  if (!has_one_zero_point(params(node.inputs[0]))) {
    return false;
  }
  TensorType one = from().type(node.inputs[0]);
  one.quant->axis.reset();
  one.quant->scale = {one.quant->scale[0]};
  one.quant->zero_point = {one.quant->zero_point[0]};
  move(node, "Clip",
       {storage(node.inputs[0]), parameters(one, original(node.inputs[0])).second});
  return true;
}

bool StorageFormBuilder::clip(const Node& node) {
  const TensorType& type = from().type(node.inputs[0]);
  std::vector<ValueId> operands{storage(node.inputs[0])};
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    const bool is_constant = !node.inputs[i] || from().constant(node.inputs[i]) != nullptr;
    if (!is_constant || type.quant->per_axis()) {
      return false;
    }
    operands.push_back(node.inputs[i] ? stored_constant(node.inputs[i], type) : ValueId{});
  }
  move(node, "Clip", std::move(operands));
  return true;
}

bool StorageFormBuilder::pad(const Node& node) {
  constexpr std::size_t kValue = 2;
  const TensorType& type = from().type(node.inputs[0]);
  std::vector<ValueId> operands{storage(node.inputs[0])};
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    operands.push_back(node.inputs[i] && i != kValue ? expressed(node.inputs[i]) : ValueId{});
  }
  if (node.attributes.text("mode", "constant") == "constant") {
    operands.resize(std::max(operands.size(), kValue + 1));
    const bool has_value = node.inputs.size() > kValue && node.inputs[kValue];
    if (type.quant->per_axis() ||
        (has_value && from().constant(node.inputs[kValue]) == nullptr)) {
      return false;
    }
    operands[kValue] = has_value ? stored_constant(node.inputs[kValue], type)
                                 : parameters(node.inputs[0]).second;
  }
  move(node, "Pad", std::move(operands));
  return true;
}

/// Moves elements where nothing is to be rescaled.
bool StorageFormBuilder::concatenate(const Node& node) {
  std::vector<ValueId> operands;
  for (const ValueId input : node.inputs) {
    if (from().type(input).quant != from().type(node.outputs[0]).quant) {
      return false;
    }
    operands.push_back(storage(input));
  }
  move(node, "Concat", std::move(operands));
  return true;
}

void StorageFormBuilder::move(const Node& node, const std::string& op,
                              std::vector<ValueId> operands) {
  std::vector<NamedType> results;
  for (const ValueId output : node.outputs) {
    const TensorType& type = from().type(output);
    results.push_back({to().unique_name(from().name(output)), plain(type, type.dtype)});
  }
  const NodeId id = to().add_node(to().unique_name(node.name), op, std::move(operands),
                                  std::move(results), node.attributes);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId output = node.outputs[i];
    const ValueId result = to().node(id).outputs[i];
    if (from().type(output).quant) {
      set_storage(output, result);
    } else {
      set_expressed(output, result);
    }
  }
}

ValueId StorageFormBuilder::stored_constant(ValueId expressed, const TensorType& type) {
  return shared_constant(quantized_name(from().name(expressed)),
                         quantize(*from().constant(expressed), *type.quant));
}

}  // namespace tare
