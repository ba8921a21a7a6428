#include "execute/operands.h"

#include "tare/error.h"

#include "execute/elements/nested_loops.h"

#include <algorithm>

namespace tare {

const Operand& required(const KernelRequest& request, std::size_t i) {
  if (!request.has_input(i)) {
    throw Error(ErrorCode::kInvalidModel, "", "operand " + std::to_string(i) + " is missing");
  }
  return request.inputs[i];
}

bool uniform(const KernelRequest& request, std::size_t count) {
  const DType dtype = request.outputs.at(0).dtype();
  const auto last = request.inputs.begin() +
                    static_cast<std::ptrdiff_t>(std::min(count, request.inputs.size()));
  return std::all_of(request.inputs.begin(), last,
                     [&](const Operand& x) { return x && x.dtype() == dtype; });
}

bool all_f32(const KernelRequest& request) {
  return std::all_of(request.inputs.begin(), request.inputs.end(),
                     [](const Operand& x) { return !x || x.dtype() == DType::kFloat32; });
}

void expect_shape(const Operand& operand, const Shape& shape) {
  if (operand.shape() != shape) {
    throw Error(ErrorCode::kInvalidModel, "",
                "an operand has shape " + to_string(operand.shape()))
        .expected(to_string(shape));
  }
}

void expect_count(const Operand& operand, std::size_t count) {
  if (count_of(operand) != count) {
    throw Error(ErrorCode::kInvalidModel, "",
                "an operand has shape " + to_string(operand.shape()))
        .expected(std::to_string(count) + (count == 1 ? " element" : " elements"));
  }
}

std::size_t axis_of(const KernelRequest& request, std::int64_t fallback, std::size_t rank) {
  return normalized_axis(request.attributes().integer("axis", fallback), rank);
}

AxisView view_axis(const Operand& operand, std::size_t logical_axis) {
  const Shape shape = operand.physical_shape();
  const std::size_t axis = operand.physical_axis(logical_axis);
  AxisView view;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    (i < axis    ? view.outer
     : i == axis ? view.extent
                 : view.inner) *= static_cast<std::size_t>(shape[i]);
  }
  return view;
}

std::int64_t checked_index(std::int64_t index, std::int64_t extent) {
  if (index < -extent || index >= extent) {
    throw Error(ErrorCode::kInvalidData, "", "index " + std::to_string(index))
        .expected("one of " + std::to_string(extent) + " positions");
  }
  return index < 0 ? index + extent : index;
}

std::size_t count_of(const Operand& operand) {
  return static_cast<std::size_t>(element_count(operand.shape()));
}

LayoutRule follow(const KernelRequest&) {
  return LayoutRule::kFollow;
}

Strides broadcast_strides(const Operand& operand, const Operand& result) {
  const Shape& from = operand.shape();
  const Shape& to = result.shape();
  const std::size_t lead = to.size() - std::min(from.size(), to.size());
  bool fits = from.size() <= to.size();
  const Strides own = operand.strides();
  Strides strides(to.size(), 0);
  for (std::size_t axis = lead; fits && axis < to.size(); ++axis) {
    const std::int64_t extent = from[axis - lead];
    fits = extent == to[axis] || extent == 1;
    strides[axis] = extent == 1 ? 0 : own[axis - lead];
  }
  if (!fits) {
    throw Error(
        ErrorCode::kInvalidModel, "",
        "an operand of shape " + to_string(from) + " does not broadcast to " + to_string(to));
  }
  return strides;
}

}  // namespace tare
