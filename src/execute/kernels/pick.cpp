// NonZero, Compress, Unique and NonMaxSuppression of ONNX, whose results are as long as the
// elements of their operands have it. How long that is was known when the graph was read;
// operands that make another length are refused.
#include "tare/error.h"

#include "execute/elements/dispatch.h"
#include "execute/operands.h"
#include "graph/operators/non_max_suppression.h"
#include "graph/operators/unique_slices.h"

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

std::unique_ptr<Kernel> make_unique_kernel(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Operand& y = request.outputs[0];
  if (y.dtype() != x.dtype()) {
    return nullptr;
  }
  std::optional<std::size_t> axis;
  AxisView view{.outer = 1, .extent = count_of(x), .inner = 1};
  Shape shape{y.shape().empty() ? 0 : y.shape()[0]};
  if (request.attributes().has("axis")) {
    axis = axis_of(request, 0, x.shape().size());
    view = view_axis(x, *axis);
    shape = x.shape();
    shape[*axis] = *axis < y.shape().size() ? y.shape()[*axis] : 0;
  }
  expect_shape(y, shape);
  const std::int64_t wanted = shape[axis.value_or(0)];
  for (std::size_t i = 1; i < request.outputs.size(); ++i) {
    const bool is_inverse = i == 2;
    expect_count(request.outputs[i],
                 is_inverse ? view.extent : static_cast<std::size_t>(wanted));
    if (request.outputs[i].dtype() != DType::kInt64) {
      return nullptr;
    }
  }
  const bool sorted = request.attributes().integer("sorted", 1) != 0;
  const std::size_t bytes = view.inner * size_of(x.dtype());
  return make_kernel([=, dtype = x.dtype(), from = x.shape()](const Buffers& buffers) {
    const UniqueSlices found = unique_slices(buffers.inputs[0], dtype, from, axis, sorted);
    if (static_cast<std::int64_t>(found.first.size()) != wanted) {
      throw Error(ErrorCode::kInvalidData, "",
                  std::to_string(found.first.size()) +
                      " slices differ, which the shape of the result depends on")
          .expected(std::to_string(wanted) + " as when the model was read");
    }
    std::byte* to = buffers.outputs[0];
    for (std::size_t outer = 0; outer < view.outer; ++outer) {
      for (const std::int64_t slice : found.first) {
        const std::size_t at = outer * view.extent + static_cast<std::size_t>(slice);
        std::memcpy(to, buffers.inputs[0] + at * bytes, bytes);
        to += bytes;
      }
    }
    const std::vector<std::int64_t>* lists[] = {&found.first, &found.inverse, &found.count};
    for (std::size_t i = 1; i < buffers.outputs.size(); ++i) {
      std::copy(lists[i - 1]->begin(), lists[i - 1]->end(), output<std::int64_t>(buffers, i));
    }
  });
}

constexpr std::size_t kMost = 2;
constexpr std::size_t kOverlap = 3;
constexpr std::size_t kScore = 4;

std::unique_ptr<Kernel> make_non_max_suppression(const KernelRequest& request) {
  const Shape& boxes = required(request, 0).shape();
  const Shape& scores = required(request, 1).shape();
  if (boxes.size() != 3 || boxes[2] != 4 || scores.size() != 3 || scores[0] != boxes[0] ||
      scores[2] != boxes[1]) {
    throw Error(ErrorCode::kInvalidModel, "",
                "boxes are " + to_string(boxes) + " and scores " + to_string(scores))
        .expected("[batches,boxes,4] and [batches,classes,boxes]");
  }
  const auto has = [&](std::size_t i, DType dtype) {
    if (!request.has_input(i)) {
      return false;
    }
    expect_count(request.inputs[i], 1);
    return request.inputs[i].dtype() == dtype;
  };
  const bool has_types = request.inputs[0].dtype() == DType::kFloat32 &&
                         request.inputs[1].dtype() == DType::kFloat32 &&
                         request.outputs[0].dtype() == DType::kInt64;
  if (!has_types) {
    return nullptr;
  }
  Suppression how{.batches = boxes[0], .classes = scores[1], .boxes = boxes[1]};
  how.is_centered = request.attributes().integer("center_point_box", 0) != 0;
  const bool has_most = has(kMost, DType::kInt64);
  const bool has_overlap = has(kOverlap, DType::kFloat32);
  const bool has_score = has(kScore, DType::kFloat32);
  const std::int64_t selected =
      request.outputs[0].shape().empty() ? 0 : request.outputs[0].shape()[0];
  expect_shape(request.outputs[0], {selected, 3});
  const std::size_t box_count = count_of(request.inputs[0]);
  const std::size_t score_count = count_of(request.inputs[1]);
  return make_kernel([=](const Buffers& buffers) {
    Suppression limits = how;
    limits.most = has_most ? *input<std::int64_t>(buffers, kMost) : 0;
    limits.overlap = has_overlap ? *input<float>(buffers, kOverlap) : 0;
    limits.score = has_score ? *input<float>(buffers, kScore) : limits.score;
    const auto found = suppress_non_maxima({input<float>(buffers, 0), box_count},
                                           {input<float>(buffers, 1), score_count}, limits);
    if (static_cast<std::int64_t>(found.size()) != selected) {
      throw Error(ErrorCode::kInvalidData, "",
                  std::to_string(found.size()) +
                      " boxes are selected, which the shape of the result depends on")
          .expected(std::to_string(selected) + " as when the model was read");
    }
    auto* to = output<std::int64_t>(buffers, 0);
    for (const auto& each : found) {
      to = std::copy(each.begin(), each.end(), to);
    }
  });
}

std::unique_ptr<Kernel> make_pick(const KernelRequest& request) {
  const std::string& op = request.node->op;
  return op == "NonZero"    ? make_non_zero(request)
         : op == "Compress" ? make_compress(request)
         : op == "Unique"   ? make_unique_kernel(request)
                            : make_non_max_suppression(request);
}

}  // namespace
}  // namespace tare

TARE_KERNEL(pick) {
  return {.ops = {"NonZero", "Compress", "NonMaxSuppression", "Unique"},
          .make = tare::make_pick};
}
