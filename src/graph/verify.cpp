#include "tare/error.h"
#include "tare/graph.h"

#include <cmath>
#include <set>

namespace tare {
namespace {

void check_params(const std::string& where, const TensorType& type, Faults& faults) {
  const QuantParams& params = *type.quant;
  std::size_t wanted = 1;
  if (params.axis) {
    const auto axis = static_cast<std::size_t>(*params.axis);
    if (*params.axis < 0 || axis >= type.shape.size()) {
      faults.add(where, "quantization axis " + std::to_string(*params.axis) +
                            " is outside of shape " + to_string(type.shape));
      return;
    }
    wanted = static_cast<std::size_t>(type.shape[axis]);
  }
  if (params.scale.size() != wanted || params.zero_point.size() != wanted) {
    faults.add(where,
               "has " + std::to_string(params.scale.size()) + " scales and " +
                   std::to_string(params.zero_point.size()) + " zero points",
               std::to_string(wanted) + " of each");
  }
  if (type.dtype != params.storage) {
    faults.add(where, "holds " + std::string(name_of(type.dtype)),
               "its storage type " + std::string(name_of(params.storage)));
  }
  const StorageRange range = params.range();
  for (const float scale : params.scale) {
    if (!(scale > 0) || !std::isfinite(scale)) {
      faults.add(where, "has scale " + std::to_string(scale), "a finite scale above 0");
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

void verify(const Graph& graph) {
  Faults faults;
  for (const ValueId id : graph.values()) {
    const std::string where = "value '" + graph.name(id) + "'";
    const TensorType& type = graph.type(id);
    for (const std::int64_t extent : type.shape) {
      if (extent < 0) {
        faults.add(where, "has shape " + to_string(type.shape), "extents of 0 or more");
        break;
      }
    }
    if (const Tensor* tensor = graph.constant(id)) {
      if (tensor->shape() != type.shape || tensor->dtype() != type.dtype) {
        faults.add(where,
                   "constant of type " + std::string(name_of(tensor->dtype())) +
                       to_string(tensor->shape()),
                   std::string(name_of(type.dtype)) + to_string(type.shape));
      }
    }
    if (type.quant) {
      check_params(where, type, faults);
    }
  }
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (node.op.empty()) {
      faults.add("node '" + node.name + "'", "has no operator");
    }
  }
  if (graph.outputs().empty()) {
    faults.add("", "the graph has no outputs");
  }
  faults.raise(ErrorCode::kInvalidModel);
  (void)graph.topological_order();
}

}  // namespace tare
