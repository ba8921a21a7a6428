// MaxUnpool of ONNX: puts the results of a MaxPool back where they were found; all else is 0.
#include "tare/error.h"

#include "execute/elements/dispatch.h"
#include "execute/operands.h"

#include <algorithm>

namespace tare {
namespace {

/// Positions are those in a tensor of shape `pooled`; the result may be larger.
std::size_t position_in(const Shape& result, const Shape& pooled, std::int64_t position) {
  std::int64_t at = 0;
  std::int64_t stride = 1;
  for (std::size_t axis = result.size(); axis-- > 0;) {
    at += position % pooled[axis] * stride;
    position /= pooled[axis];
    stride *= result[axis];
  }
  return static_cast<std::size_t>(at);
}

/// What MaxPool has read, unless another shape is stated.
Shape pooled_shape(const KernelRequest& request) {
  const Attributes& attributes = request.attributes();
  const Shape& x = request.inputs[0].shape();
  const std::vector<std::int64_t> kernel = attributes.integers("kernel_shape");
  const std::size_t axes = kernel.size();
  const auto strides = attributes.integers("strides", std::vector<std::int64_t>(axes, 1));
  const auto pads = attributes.integers("pads", std::vector<std::int64_t>(2 * axes, 0));
  if (x.size() != axes + 2 || strides.size() != axes || pads.size() != 2 * axes) {
    throw Error(ErrorCode::kInvalidModel, "",
                "kernel_shape, strides or pads do not fit " + to_string(x));
  }
  Shape shape = x;
  for (std::size_t i = 0; i < axes; ++i) {
    shape[i + 2] = (x[i + 2] - 1) * strides[i] + kernel[i] - pads[i] - pads[i + axes];
  }
  return shape;
}

std::unique_ptr<Kernel> make_max_unpool(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Operand& positions = required(request, 1);
  const Operand& y = request.outputs[0];
  if (!uniform(request, 1) || positions.dtype() != DType::kInt64) {
    return nullptr;
  }
  expect_shape(positions, x.shape());
  const Shape pooled = pooled_shape(request);
  for (std::size_t i = 0; i < pooled.size(); ++i) {
    if (y.shape().size() != pooled.size() || y.shape()[i] < pooled[i] || pooled[i] < 1) {
      throw Error(ErrorCode::kInvalidModel, "", "the result is " + to_string(y.shape()))
          .expected("at least " + to_string(pooled));
    }
  }
  const std::size_t count = count_of(x);
  const std::size_t results = count_of(y);
  return with_cell(x.dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([=, result = y.shape(), most = element_count(pooled)](const Buffers& b) {
      std::fill_n(output<T>(b, 0), results, T(0));
      for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t position = checked_index(input<std::int64_t>(b, 1)[i], most);
        output<T>(b, 0)[position_in(result, pooled, position)] = input<T>(b, 0)[i];
      }
    });
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(max_unpool) {
  return {.ops = {"MaxUnpool"}, .make = tare::make_max_unpool};
}
