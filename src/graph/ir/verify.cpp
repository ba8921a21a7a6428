#include "graph/ir/verify.h"

#include "tare/graph.h"

#include "graph/arithmetic/node_arithmetic.h"
#include "graph/arithmetic/per_axis.h"
#include "graph/arithmetic/storage_type.h"
#include "graph/text/literal.h"

#include <algorithm>
#include <cmath>

namespace tare {
namespace {

void check_params(const std::string& where, const TensorType& type, Faults& faults) {
  const QuantParams& params = *type.quant;
  // A simulated graph holds storage values in float32; the point tells them from real ones.
  const bool simulated = type.dtype == DType::kFloat32 && !type.point.empty();
  if (type.dtype != params.storage && !simulated) {
    faults.add(where, "holds " + std::string(name_of(type.dtype)),
               "its storage type " + std::string(name_of(params.storage)));
  }
  if (!is_storage_type(params.storage) && !is_sum_type(params.storage)) {
    faults.add(where, "is quantized to " + std::string(name_of(params.storage)),
               "i8, u8, i16, u16 or i32, or i64 for sums");
    return;
  }
  if (params.block < 0 || (params.block > 0 && !params.axis)) {
    faults.add(where, "has blocks of " + std::to_string(params.block),
               "a size above 0, along an axis");
    return;
  }
  if (params.axis &&
      (*params.axis < 0 || static_cast<std::size_t>(*params.axis) >= type.shape.size())) {
    faults.add(where, "quantization axis " + std::to_string(*params.axis) +
                          " is outside of shape " + to_string(type.shape));
    return;
  }
  const auto wanted = static_cast<std::size_t>(
      element_count(parameter_shape(type.shape, params.axis, params.block)));
  if (params.scale.size() != wanted || params.zero_point.size() != wanted) {
    faults.add(where,
               "has " + std::to_string(params.scale.size()) + " scales and " +
                   std::to_string(params.zero_point.size()) + " zero points",
               std::to_string(wanted) + " of each");
  }
  const auto bits = static_cast<int>(8 * size_of(params.storage));
  if (params.bits < 0 || params.bits > bits) {
    faults.add(where, "uses " + std::to_string(params.bits) + " bits of " +
                          std::string(name_of(params.storage)));
    return;
  }
  const StorageRange range = params.range();
  for (const float scale : params.scale) {
    if (!(scale > 0) || !std::isfinite(scale)) {
      std::string text = "has scale ";
      append_literal(text, scale);
      faults.add(where, text, "a finite scale above 0");
      break;
    }
  }
  for (const std::int32_t zero : params.zero_point) {
    if (zero < range.low || zero > range.high) {
      faults.add(
          where, "has zero point " + std::to_string(zero),
          "one within [" + std::to_string(range.low) + "," + std::to_string(range.high) + "]");
      break;
    }
  }
}

}  // namespace

void verify_type(const std::string& where, const TensorType& type, Faults& faults) {
  bool is_shape = false;
  if (std::any_of(type.shape.begin(), type.shape.end(),
                  [](auto extent) { return extent < 0; })) {
    faults.add(where, "has shape " + to_string(type.shape), "extents of 0 or more");
  } else if (!is_addressable(type.shape)) {
    faults.add(where, "has shape " + to_string(type.shape),
               "extents whose product is 2^40 at most");
  } else {
    is_shape = true;
  }
  if (type.quant && (is_shape || type.quant->block == 0)) {
    check_params(where, type, faults);
  }
}

namespace {

void check_node(const Node& node, Faults& faults) try {
  if (node.op.empty()) {
    faults.add("node '" + node.name + "'", "has no operator");
  }
  (void)accumulator(node.attributes);
  (void)numerics(node.attributes);
  (void)tie_breaking_point(node.attributes);
} catch (const Error& error) {
  for (const Fault& fault : error.faults()) {
    faults.add("node '" + node.name + "'", fault.what, fault.expected);
  }
}

}  // namespace

void verify(const Graph& graph) {
  Faults faults;
  for (const ValueId id : graph.values()) {
    const std::string where = "value '" + graph.name(id) + "'";
    const TensorType& type = graph.type(id);
    verify_type(where, type, faults);
    if (const Tensor* tensor = graph.constant(id)) {
      if (tensor->shape() != type.shape || tensor->dtype() != type.dtype) {
        faults.add(where,
                   "constant of type " + std::string(name_of(tensor->dtype())) +
                       to_string(tensor->shape()),
                   std::string(name_of(type.dtype)) + to_string(type.shape));
      }
    }
  }
  for (const NodeId id : graph.nodes()) {
    check_node(graph.node(id), faults);
  }
  if (graph.outputs().empty()) {
    faults.add("", "the graph has no outputs");
  }
  faults.raise(ErrorCode::kInvalidModel);
  (void)graph.topological_order();
}

}  // namespace tare
