// Operators along axes.
#include "tflite/operators.h"

#include <algorithm>

namespace tare::tflite {
namespace {

/// The axes of operand 1 in that order, sorted, each once.
std::vector<std::int64_t> reduced_axes(const OperatorImport& op, Order order) {
  std::vector<std::int64_t> axes;
  for (const std::int64_t axis : op.integers(1)) {
    axes.push_back(axis_in(order, op.axis(axis, op.rank(0))));
  }
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

/// Channels come last in the file; where they are not reduced and other axes stay beside them,
/// results without the reduced axes would be in neither order.
Order reduction_order(const OperatorImport& op, bool keeps) {
  if (keeps || op.rank(0) != kImageRank || op.order_of(0) == Order::kFile) {
    return op.order_of(0);
  }
  const auto axes = reduced_axes(op, Order::kChannelsFirst);
  const bool whole_images = axes == std::vector<std::int64_t>{2, 3};
  return whole_images ? Order::kChannelsFirst : Order::kFile;
}

/// The last axis of the file.
std::int64_t last_axis(const OperatorImport& op, Order order) {
  if (op.rank(0) == 0) {
    op.refuse("its operand has no axes");
  }
  return axis_in(order, static_cast<std::int64_t>(op.rank(0)) - 1);
}

/// Along the axes of operand 1; in another type of elements where one is given.
void reduce_as(OperatorImport& op, std::string_view onnx, std::optional<DType> by) {
  const auto* options = op.given_options<schema::ReducerOptions>();
  const bool keeps = options != nullptr && options->keep_dims();
  const Order order = reduction_order(op, keeps);
  const std::vector<std::int64_t> axes = reduced_axes(op, order);
  const ValueId given = op.value(0, order);
  const ValueId x = by ? op.cast(given, *by) : given;
  const Shape from = op.shape_of(x);
  Shape shape;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const bool gone =
        std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(i));
    if (!gone) {
      shape.push_back(from[i]);
    } else if (keeps) {
      shape.push_back(1);
    }
  }
  Attributes attributes{{"keepdims", static_cast<std::int64_t>(keeps)}};
  if (axes.empty()) {
    op.unsupported("reduces no axis");
  }
  // Of these operators only sums had their axes among the operands by opset 17.
  ValueId y;
  if (onnx == "ReduceSum") {
    y = op.add(std::string(onnx), {x, op.indices(axes)}, shape, attributes);
  } else {
    attributes.set("axes", axes);
    y = op.add(std::string(onnx), {x}, shape, attributes);
  }
  op.define(keeps ? order : Order::kFile, op.cast(y, op.graph().type(given).dtype));
}

}  // namespace

void reduce(OperatorImport& op, std::string_view onnx) {
  reduce_as(op, onnx, std::nullopt);
}

/// REDUCE_ANY and REDUCE_ALL: ONNX reduces no booleans by opset 17, but these are the largest
/// and the smallest of 0 and 1.
void reduce_booleans(OperatorImport& op, std::string_view onnx) {
  if (op.input(0).type.dtype != DType::kBool) {
    op.refuse("operand 0 is " + std::string(name_of(op.input(0).type.dtype)), "booleans");
  }
  reduce_as(op, onnx, DType::kInt32);
}

void softmax(OperatorImport& op, std::string_view onnx) {
  const auto* options = op.given_options<schema::SoftmaxOptions>();
  const float beta = options == nullptr ? 1.0F : options->beta();
  const Order order = op.order_of(0);
  ValueId x = op.value(0, order);
  const Shape shape = op.shape_of(x);
  if (beta != 1) {
    x = op.add("Mul", {x, op.number(beta)}, shape);
  }
  op.define(order, op.add(std::string(onnx), {x}, shape, {{"axis", last_axis(op, order)}}));
}

void l2_normalization(OperatorImport& op, std::string_view) {
  const auto* options = op.given_options<schema::L2NormOptions>();
  const Order order = op.order_of(0);
  const ValueId x = op.value(0, order);
  const ValueId y = op.add("LpNormalization", {x}, op.shape_of(x),
                           {{"axis", last_axis(op, order)}, {"p", std::int64_t{2}}});
  op.define(order, options == nullptr ? y : op.activated(y, options->activation()));
}

/// Neighbours on either side; ONNX divides the factor of their squares by how many there are.
void local_response_normalization(OperatorImport& op, std::string_view) {
  const auto& options = op.options<schema::LocalResponseNormalizationOptions>();
  constexpr int kMost = 1 << 20;
  op.require_rank(0, kImageRank);
  if (options.radius() < 0 || options.radius() > kMost) {
    op.refuse("has radius " + std::to_string(options.radius()));
  }
  const std::int64_t size = 2 * std::int64_t{options.radius()} + 1;
  const ValueId x = op.value(0, Order::kChannelsFirst);
  op.define(Order::kChannelsFirst,
            op.add("LRN", {x}, op.shape_of(x),
                   {{"size", size},
                    {"bias", options.bias()},
                    {"alpha", options.alpha() * static_cast<float>(size)},
                    {"beta", options.beta()}}));
}

void arg_max(OperatorImport& op, std::string_view onnx) {
  const std::int64_t axis = op.axis(op.integer(1), op.rank(0));
  const ValueId x = op.value(0, Order::kFile);
  Shape shape = op.shape_of(x);
  shape.erase(shape.begin() + axis);
  ValueId y = op.add(std::string(onnx), {x}, shape, DType::kInt64,
                     {{"axis", axis}, {"keepdims", std::int64_t{0}}});
  y = op.cast(y, op.output().type.dtype);
  op.define(Order::kFile, y);
}

}  // namespace tare::tflite
