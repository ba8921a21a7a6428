// The list of rules, and the small vocabulary that they are written with.
#include "reconstruct/gradient_rule.h"

#include "tare/error.h"

#include "base/check.h"

#include <algorithm>
#include <map>

#define TARE_X(stem) TARE_GRADIENT(stem);
#include "gradient_list.inc"
#undef TARE_X

namespace tare {
namespace {

using RulesByOperator = std::map<std::string, GradientRule, std::less<>>;

const RulesByOperator& rules_by_operator() {
  static const auto all = [] {
    RulesByOperator result;
    for (const GradientRules& file : {
#define TARE_X(stem) tare_gradient_##stem(),
#include "gradient_list.inc"
#undef TARE_X
         }) {
      for (const GradientRule& rule : file) {
        for (const std::string& op : rule.ops) {
          check(result.emplace(op, rule).second, "an operator has two gradient rules");
        }
      }
    }
    return result;
  }();
  return all;
}

TensorType real(Shape shape) {
  return {.dtype = DType::kFloat32, .shape = std::move(shape), .quant = {}, .point = {}};
}

}  // namespace

const GradientRule* find_gradient_rule(std::string_view op) {
  const auto found = rules_by_operator().find(op);
  return found == rules_by_operator().end() ? nullptr : &found->second;
}

std::vector<std::string> differentiable_ops() {
  std::vector<std::string> result;
  for (const auto& [op, rule] : rules_by_operator()) {
    result.push_back(op);
  }
  return result;
}

Shape broadcast(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto extent = [&](const Shape& shape) {
      return i < shape.size() ? shape[shape.size() - 1 - i] : 1;
    };
    result[result.size() - 1 - i] = extent(a) == 1 ? extent(b) : extent(a);
  }
  return result;
}

ValueId GradientContext::input(std::size_t i) const {
  if (!has_input(i)) {
    throw Error(ErrorCode::kUnsupported, "", "has no operand " + std::to_string(i));
  }
  return node_.inputs[i];
}

std::vector<std::int64_t> GradientContext::integers(std::size_t i) const {
  const auto values = constant_integers(graph_, node_, i);
  if (!values) {
    throw Error(ErrorCode::kUnsupported, "",
                "has a derivative only where operand " + std::to_string(i) + " is constant");
  }
  return *values;
}

ValueId GradientContext::gradient(std::size_t i) {
  ValueId& gradient = result_gradients_.at(i);
  if (!gradient) {
    gradient = zeros(shape(output(i)));
  }
  return gradient;
}

ValueId GradientContext::add(std::string op, std::vector<ValueId> inputs, Shape shape,
                             Attributes attributes) {
  return add(std::move(op), std::move(inputs), real(std::move(shape)), std::move(attributes));
}

ValueId GradientContext::add(std::string op, std::vector<ValueId> inputs, TensorType type,
                             Attributes attributes) {
  const std::string name = graph_.unique_name(node_.name + "_backward");
  const NodeId id = graph_.add_node("", std::move(op), std::move(inputs),
                                    {{name, std::move(type)}}, std::move(attributes));
  return graph_.node(id).outputs[0];
}

ValueId GradientContext::map(std::string op, std::vector<ValueId> inputs,
                             Attributes attributes) {
  Shape result;
  for (const ValueId value : inputs) {
    result = broadcast(result, shape(value));
  }
  return add(std::move(op), std::move(inputs), std::move(result), std::move(attributes));
}

ValueId GradientContext::test(std::string op, std::vector<ValueId> inputs) {
  TensorType type = real({});
  type.dtype = DType::kBool;
  for (const ValueId value : inputs) {
    type.shape = broadcast(type.shape, shape(value));
  }
  return add(std::move(op), std::move(inputs), std::move(type));
}

ValueId GradientContext::constant(Tensor tensor) {
  return graph_.add_constant(graph_.unique_name(node_.name + "_backward"), std::move(tensor));
}

ValueId GradientContext::number(float value) {
  return constant(Tensor::scalar(value));
}

ValueId GradientContext::list(const std::vector<std::int64_t>& values) {
  return constant(Tensor::of({static_cast<std::int64_t>(values.size())}, values));
}

ValueId GradientContext::zeros(const Shape& shape) {
  return constant(Tensor(DType::kFloat32, shape));
}

ValueId GradientContext::reshape(ValueId value, const Shape& to) {
  return shape(value) == to ? value
                            : add("Reshape", {value, list(to)}, to, {{"allowzero", 1L}});
}

ValueId GradientContext::transpose(ValueId value, const std::vector<std::int64_t>& order) {
  Shape result;
  for (const std::int64_t axis : order) {
    result.push_back(shape(value)[static_cast<std::size_t>(axis)]);
  }
  return add("Transpose", {value}, std::move(result), {{"perm", order}});
}

namespace {

Shape reduced(Shape shape, const std::vector<std::int64_t>& axes) {
  for (const std::int64_t axis : axes) {
    shape[static_cast<std::size_t>(axis)] = 1;
  }
  return shape;
}

}  // namespace

ValueId GradientContext::sum(ValueId value, const std::vector<std::int64_t>& axes) {
  return axes.empty() ? value
                      : add("ReduceSum", {value, list(axes)}, reduced(shape(value), axes),
                            {{"keepdims", 1L}});
}

ValueId GradientContext::mean(ValueId value, const std::vector<std::int64_t>& axes) {
  return axes.empty() ? value
                      : add("ReduceMean", {value}, reduced(shape(value), axes),
                            {{"axes", axes}, {"keepdims", 1L}});
}

ValueId GradientContext::sum_to(ValueId value, const Shape& to) {
  const Shape& from = shape(value);
  const std::size_t more = from.size() - to.size();
  std::vector<std::int64_t> axes;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    if (axis < more || (to[axis - more] == 1 && from[axis] != 1)) {
      axes.push_back(static_cast<std::int64_t>(axis));
    }
  }
  return reshape(sum(value, axes), to);
}

ValueId GradientContext::expand(ValueId value, const Shape& to) {
  return shape(value) == to ? value : add("Expand", {value, list(to)}, to);
}

ValueId GradientContext::where(ValueId condition, ValueId value) {
  return add("Where", {condition, value, number(0)}, broadcast(shape(condition), shape(value)));
}

}  // namespace tare
