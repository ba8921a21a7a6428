#include "onnx/constants.h"

#include "graph/arithmetic/half.h"

#include <algorithm>
#include <utility>

namespace tare {

Tensor filled(DType dtype, Shape shape, double value) {
  Tensor tensor(is_float(dtype) ? dtype : DType::kFloat32, std::move(shape));
  const auto fill = [&](auto element) {
    std::fill_n(reinterpret_cast<decltype(element)*>(tensor.mutable_data()), tensor.size(),
                element);
  };
  switch (tensor.dtype()) {
    case DType::kFloat64:
      fill(value);
      break;
    case DType::kFloat16:
      fill(float_to_half(static_cast<float>(value)));
      break;
    case DType::kBfloat16:
      fill(float_to_bfloat16(static_cast<float>(value)));
      break;
    default:
      fill(static_cast<float>(value));
      break;
  }
  return tensor;
}

}  // namespace tare
