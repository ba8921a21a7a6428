#include "onnx/shape_by_values.h"

#include "tare/error.h"

#include "graph/operators/einsum_equation.h"
#include "graph/operators/non_max_suppression.h"
#include "graph/operators/unique_slices.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace tare {
namespace {

const Tensor* known(const InferenceRequest& request, std::size_t operand) {
  return operand < request.operands.size() ? request.operands[operand].data : nullptr;
}

std::optional<Shape> shape_of_one_hot(const InferenceRequest& request) {
  constexpr std::size_t kDepth = 1;
  const Tensor* depth = known(request, kDepth);
  if (depth == nullptr) {
    return std::nullopt;
  }
  const std::vector<std::int64_t> extents = depth->to_int64();
  if (extents.size() != 1 || extents[0] < 1) {
    throw Error(ErrorCode::kInvalidModel, "", "the depth is not one positive number");
  }
  Shape shape = request.operands[0].type->shape;
  const auto rank = static_cast<std::int64_t>(shape.size()) + 1;
  const std::int64_t axis = request.attributes.integer("axis", -1);
  if (axis < -rank || axis >= rank) {
    throw Error(
        ErrorCode::kInvalidModel, "",
        "axis " + std::to_string(axis) + " of a result of rank " + std::to_string(rank));
  }
  shape.insert(shape.begin() + (axis < 0 ? axis + rank : axis), extents[0]);
  return shape;
}

std::optional<Shape> shape_of_einsum(const InferenceRequest& request) {
  std::vector<Shape> shapes;
  for (const KnownOperand& operand : request.operands) {
    shapes.push_back(operand.type->shape);
  }
  const EinsumEquation equation = parse_einsum(request.attributes.text("equation"), shapes);
  return equation.extents(equation.result, shapes);
}

std::optional<Shape> shape_of_max_unpool(const InferenceRequest& request) {
  constexpr std::size_t kOutputShape = 2;
  const Tensor* shape = known(request, kOutputShape);
  return shape == nullptr ? std::nullopt : std::optional<Shape>(shape->to_int64());
}

std::int64_t count_non_zero(const Tensor& tensor, std::int64_t most) {
  const std::vector<double> values = tensor.to_double();
  const auto last = values.begin() + std::min(most, static_cast<std::int64_t>(values.size()));
  return std::count_if(values.begin(), last, [](double value) { return value != 0; });
}

std::optional<Shape> shape_of_non_zero(const InferenceRequest& request) {
  const Tensor* data = known(request, 0);
  if (data == nullptr) {
    return std::nullopt;
  }
  const auto rank = static_cast<std::int64_t>(std::max<std::size_t>(data->shape().size(), 1));
  return Shape{rank, count_non_zero(*data, data->size())};
}

std::optional<Shape> shape_of_compress(const InferenceRequest& request) {
  constexpr std::size_t kCondition = 1;
  const Tensor* condition = known(request, kCondition);
  if (condition == nullptr) {
    return std::nullopt;
  }
  Shape shape = request.operands[0].type->shape;
  if (!request.attributes.has("axis")) {
    return Shape{count_non_zero(*condition, element_count(shape))};
  }
  const std::size_t axis = normalized_axis(request.attributes.integer("axis"), shape.size());
  shape[axis] = count_non_zero(*condition, shape[axis]);
  return shape;
}

/// One number of an operand, `fallback` where it is absent; nothing where it is not known.
std::optional<double> known_number(const InferenceRequest& request, std::size_t operand,
                                   double fallback) {
  if (operand >= request.operands.size() || request.operands[operand].type == nullptr) {
    return fallback;
  }
  const Tensor* tensor = known(request, operand);
  return tensor != nullptr && tensor->size() == 1 ? std::optional(tensor->to_double()[0])
                                                  : std::nullopt;
}

std::optional<Shape> shape_of_non_max_suppression(const InferenceRequest& request) {
  constexpr std::size_t kMost = 2;
  constexpr std::size_t kOverlap = 3;
  constexpr std::size_t kScore = 4;
  const Tensor* boxes = known(request, 0);
  const Tensor* scores = known(request, 1);
  const auto most = known_number(request, kMost, 0);
  const auto overlap = known_number(request, kOverlap, 0);
  const auto score = known_number(request, kScore, -std::numeric_limits<double>::infinity());
  if (boxes == nullptr || scores == nullptr || !most || !overlap || !score) {
    return std::nullopt;
  }
  const Shape& of_boxes = boxes->shape();
  const Shape& of_scores = scores->shape();
  if (of_boxes.size() != 3 || of_boxes[2] != 4 || of_scores.size() != 3 ||
      of_scores[0] != of_boxes[0] || of_scores[2] != of_boxes[1]) {
    throw Error(ErrorCode::kInvalidModel, "",
                "boxes are " + to_string(of_boxes) + " and scores " + to_string(of_scores))
        .expected("[batches,boxes,4] and [batches,classes,boxes]");
  }
  const Suppression how{.batches = of_boxes[0],
                        .classes = of_scores[1],
                        .boxes = of_boxes[1],
                        .most = static_cast<std::int64_t>(*most),
                        .overlap = static_cast<float>(*overlap),
                        .score = static_cast<float>(*score),
                        .is_centered = request.attributes.integer("center_point_box", 0) != 0};
  const auto selected = suppress_non_maxima(boxes->to_float(), scores->to_float(), how);
  return Shape{static_cast<std::int64_t>(selected.size()), 3};
}

std::optional<Shape> shape_of_unique(const InferenceRequest& request, std::size_t result) {
  const Tensor* data = known(request, 0);
  if (data == nullptr) {
    return std::nullopt;
  }
  std::optional<std::size_t> axis;
  if (request.attributes.has("axis")) {
    axis = normalized_axis(request.attributes.integer("axis"), data->shape().size());
  }
  const UniqueSlices unique =
      unique_slices(data->data(), data->dtype(), data->shape(), axis, true);
  const auto count = static_cast<std::int64_t>(unique.first.size());
  if (result == 2) {
    return Shape{static_cast<std::int64_t>(unique.inverse.size())};
  }
  if (result != 0 || !axis) {
    return Shape{count};
  }
  Shape shape = data->shape();
  shape[*axis] = count;
  return shape;
}

}  // namespace

std::optional<Shape> shape_by_values(const InferenceRequest& request, std::size_t result) {
  if (request.op == "Unique" && !request.operands.empty() &&
      request.operands[0].type != nullptr) {
    return shape_of_unique(request, result);
  }
  if (request.op == "NonMaxSuppression" && result == 0) {
    return shape_of_non_max_suppression(request);
  }
  const bool has_operands =
      !request.operands.empty() &&
      std::all_of(request.operands.begin(), request.operands.end(),
                  [](const KnownOperand& operand) { return operand.type != nullptr; });
  if (!has_operands || result != 0) {
    return std::nullopt;
  }
  return request.op == "OneHot"      ? shape_of_one_hot(request)
         : request.op == "Einsum"    ? shape_of_einsum(request)
         : request.op == "MaxUnpool" ? shape_of_max_unpool(request)
         : request.op == "NonZero"   ? shape_of_non_zero(request)
         : request.op == "Compress"  ? shape_of_compress(request)
                                     : std::nullopt;
}

}  // namespace tare
