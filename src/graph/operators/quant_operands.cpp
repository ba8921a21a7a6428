#include "graph/operators/quant_operands.h"

#include "graph/arithmetic/per_axis.h"

namespace tare {
namespace {

Shape shape_of(const QuantParams& params, const Shape& values) {
  return parameter_shape(values, params.axis, params.block);
}

}  // namespace

Tensor scale_operand(const QuantParams& params, const Shape& values) {
  return Tensor::of<float>(shape_of(params, values), params.scale);
}

Tensor zero_point_operand(const QuantParams& params, const Shape& values) {
  QuantParams unit;
  unit.storage = params.storage;
  const std::vector<float> zeros(params.zero_point.begin(), params.zero_point.end());
  return quantize(Tensor::of<float>(shape_of(params, values), zeros), unit);
}

Attributes axis_attributes(const QuantParams& params) {
  Attributes attributes;
  if (params.axis) {
    attributes.set("axis", static_cast<std::int64_t>(*params.axis));
  }
  if (params.block != 0) {
    attributes.set("block_size", static_cast<std::int64_t>(params.block));
  }
  return attributes;
}

}  // namespace tare
