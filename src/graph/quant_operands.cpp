#include "graph/quant_operands.h"

namespace tare {
namespace {

Shape shape_of(const QuantParams& params) {
  return params.axis ? Shape{static_cast<std::int64_t>(params.scale.size())} : Shape{};
}

}  // namespace

Tensor scale_operand(const QuantParams& params) {
  return Tensor::of<float>(shape_of(params), params.scale);
}

Tensor zero_point_operand(const QuantParams& params) {
  QuantParams unit;
  unit.storage = params.storage;
  const std::vector<float> values(params.zero_point.begin(), params.zero_point.end());
  return quantize(Tensor::of<float>(shape_of(params), values), unit);
}

Attributes axis_attribute(const QuantParams& params) {
  return params.axis ? Attributes{{"axis", static_cast<std::int64_t>(*params.axis)}}
                     : Attributes{};
}

}  // namespace tare
