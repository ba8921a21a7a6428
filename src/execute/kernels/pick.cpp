// NonZero and Compress of ONNX, whose results are as long as there are elements that are not 0.
// How many that is was known when the graph was read; operands with another number are refused.
#include "tare/error.h"

#include "execute/elements/dispatch.h"
#include "execute/operands.h"

#include <algorithm>
#include <cstring>

namespace tare {
namespace {

Error other_count(std::size_t found, std::int64_t expected) {
  return Error(ErrorCode::kInvalidData, "",
               std::to_string(found) +
                   " elements are not 0, which the shape of the result "
                   "depends on")
      .expected(std::to_string(expected) + " as when the model was read");
}

template <class T>
std::vector<std::int64_t> positions_of(const T* x, std::size_t count) {
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < count; ++i) {
    if (convert<bool>(x[i])) {
      result.push_back(static_cast<std::int64_t>(i));
    }
  }
  return result;
}

/// The index along each axis of every element that is not 0: [rank, elements].
std::unique_ptr<Kernel> make_non_zero(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Shape& y = request.outputs[0].shape();
  const Shape shape = x.shape().empty() ? Shape{1} : x.shape();
  if (y.size() != 2) {
    throw Error(ErrorCode::kInvalidModel, "", "the result is " + to_string(y));
  }
  expect_shape(request.outputs[0], {static_cast<std::int64_t>(shape.size()), y[1]});
  return dispatch(AllTypes{}, x.dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([=, count = count_of(x), wanted = y[1]](const Buffers& buffers) {
      const auto found = positions_of(input<T>(buffers, 0), count);
      if (static_cast<std::int64_t>(found.size()) != wanted) {
        throw other_count(found.size(), wanted);
      }
      std::int64_t stride = 1;
      for (std::size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) {
        std::transform(found.begin(), found.end(),
                       output<std::int64_t>(buffers, 0) + axis * found.size(),
                       [&](std::int64_t at) { return at / stride % shape[axis]; });
      }
    });
  });
}

/// Slices along an axis, or elements, for which the condition holds.
std::unique_ptr<Kernel> make_compress(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Operand& condition = required(request, 1);
  const Operand& y = request.outputs[0];
  if (!uniform(request, 1) || condition.dtype() != DType::kBool) {
    return nullptr;
  }
  AxisView view{.outer = 1, .extent = count_of(x), .inner = 1};
  Shape shape = y.shape();
  std::int64_t wanted = shape.empty() ? 0 : shape[0];
  if (request.attributes().has("axis")) {
    const std::size_t axis = axis_of(request, 0, x.shape().size());
    view = view_axis(x, axis);
    shape = x.shape();
    wanted = axis < y.shape().size() ? y.shape()[axis] : 0;
    shape[axis] = wanted;
  }
  expect_shape(y, shape);
  const std::size_t conditions = std::min(count_of(condition), view.extent);
  const std::size_t bytes = view.inner * size_of(x.dtype());
  return make_kernel([=](const Buffers& buffers) {
    const auto found = positions_of(input<bool>(buffers, 1), conditions);
    if (static_cast<std::int64_t>(found.size()) != wanted) {
      throw other_count(found.size(), wanted);
    }
    std::byte* to = buffers.outputs[0];
    for (std::size_t outer = 0; outer < view.outer; ++outer) {
      for (const std::int64_t at : found) {
        const std::size_t from = outer * view.extent + static_cast<std::size_t>(at);
        std::memcpy(to, buffers.inputs[0] + from * bytes, bytes);
        to += bytes;
      }
    }
  });
}

std::unique_ptr<Kernel> make_pick(const KernelRequest& request) {
  return request.node->op == "NonZero" ? make_non_zero(request) : make_compress(request);
}

}  // namespace
}  // namespace tare

TARE_KERNEL(pick) {
  return {.ops = {"NonZero", "Compress"}, .make = tare::make_pick};
}
