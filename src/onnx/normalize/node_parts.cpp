#include "onnx/normalize/node_parts.h"

#include "tare/error.h"

#include "onnx/constants.h"

#include <utility>

namespace tare {

ValueId NodeParts::input(std::size_t operand) const {
  if (!has(operand)) {
    throw Error(ErrorCode::kInvalidModel, "",
                "operand " + std::to_string(operand) + " is missing");
  }
  return draft_.inputs[operand];
}

ValueId NodeParts::optional(std::size_t operand) const {
  return has(operand) ? draft_.inputs[operand] : ValueId{};
}

std::int64_t NodeParts::extent(ValueId id, std::size_t axis) const {
  const Shape extents = shape(id);
  if (axis >= extents.size()) {
    throw Error(ErrorCode::kInvalidModel, "", "an operand is of shape " + to_string(extents))
        .expected("more than " + std::to_string(axis) + " dimensions");
  }
  return extents[axis];
}

ValueId NodeParts::add(std::string_view part, std::string op, std::vector<ValueId> inputs,
                       Attributes attributes) {
  return builder_.emit_helper(draft_.name + "_" + std::string(part), std::move(op),
                              std::move(inputs), std::move(attributes));
}

ValueId NodeParts::number(std::string_view part, DType dtype, double value) {
  return constant(part, filled(dtype, {}, value));
}

ValueId NodeParts::integers(std::string_view part, const std::vector<std::int64_t>& values) {
  return constant(part, vector_of(values));
}

ValueId NodeParts::constant(std::string_view part, Tensor tensor) {
  return builder_.add_constant(draft_.name + "_" + std::string(part), std::move(tensor));
}

ValueId NodeParts::reshape(std::string_view part, ValueId value,
                           const std::vector<std::int64_t>& shape) {
  return add(part, "Reshape", {value, integers(std::string(part) + "_shape", shape)});
}

ValueId NodeParts::transpose(std::string_view part, ValueId value,
                             std::vector<std::int64_t> perm) {
  return add(part, "Transpose", {value}, {{"perm", std::move(perm)}});
}

ValueId NodeParts::concat(std::string_view part, std::vector<ValueId> values,
                          std::int64_t axis) {
  return add(part, "Concat", std::move(values), {{"axis", axis}});
}

ValueId NodeParts::slice(std::string_view part, ValueId value, std::int64_t axis,
                         std::int64_t begin, std::int64_t end) {
  const std::string name(part);
  return add(part, "Slice",
             {value, integers(name + "_begin", {begin}), integers(name + "_end", {end}),
              integers(name + "_axis", {axis})});
}

ValueId NodeParts::unsqueeze(std::string_view part, ValueId value,
                             const std::vector<std::int64_t>& axes) {
  return add(part, "Unsqueeze", {value, integers(std::string(part) + "_axes", axes)});
}

void NodeParts::result(std::size_t i, ValueId value) {
  if (wants(i)) {
    builder_.emit({builder_.fresh_name(draft_.name + "_result"),
                   "Identity",
                   {value},
                   {draft_.outputs[i]},
                   {}});
  }
}

void NodeParts::finish(std::string op, std::vector<ValueId> inputs, Attributes attributes) {
  draft_.op = std::move(op);
  draft_.inputs = std::move(inputs);
  draft_.attributes = std::move(attributes);
  draft_.outputs.resize(1);
}

}  // namespace tare
