// Operators whose operands or attributes for shapes and axes have changed between opsets:
// Softmax, Upsample and Resize, Pad, Split and reductions.
#include "tare/error.h"

#include "onnx/constants.h"
#include "onnx/normalize/rules.h"

#include <algorithm>
#include <string>
#include <utility>

namespace tare {
namespace {

/// Axes of an operand or attribute, none negative, none twice.
std::vector<std::size_t> unique_axes(const std::vector<std::int64_t>& axes, std::size_t rank) {
  std::vector<std::size_t> result;
  for (const std::int64_t axis : axes) {
    const std::size_t normalized = normalized_axis(axis, rank);
    if (std::find(result.begin(), result.end(), normalized) != result.end()) {
      throw Error(ErrorCode::kInvalidModel, "",
                  "axis " + std::to_string(normalized) + " is given twice");
    }
    result.push_back(normalized);
  }
  return result;
}

void require_count(std::size_t found, std::size_t wanted, const char* what) {
  if (found != wanted) {
    throw Error(ErrorCode::kInvalidModel, "", "has " + std::to_string(found) + " " + what)
        .expected(std::to_string(wanted));
  }
}

void require_first_inputs(const Draft& draft, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!draft.has_input(i)) {
      throw Error(ErrorCode::kInvalidModel, "", "operand " + std::to_string(i) + " is missing");
    }
  }
}

/// Spreads values given for some axes over all of them.
template <class T>
std::vector<T> spread(std::vector<T> all, const std::vector<T>& given,
                      const std::vector<std::size_t>& axes, const char* what) {
  require_count(given.size(), axes.size(), what);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    all[axes[i]] = given[i];
  }
  return all;
}

/// The operand with ones behind its axes, so that these are those from `axis` on of the other.
void align(Draft& draft, GraphBuilder& builder, std::size_t operand, std::size_t axis,
           std::size_t rank) {
  Shape shape = builder.shape(draft.inputs[operand]);
  if (axis + shape.size() > rank) {
    throw Error(ErrorCode::kInvalidModel, "",
                "operand " + std::to_string(operand) + " is " + to_string(shape) +
                    ", which from axis " + std::to_string(axis) + " on does not fit rank " +
                    std::to_string(rank));
  }
  if (axis + shape.size() == rank) {
    return;
  }
  shape.resize(rank - axis, 1);
  const std::string name = draft.name + "_aligned";
  draft.inputs[operand] = builder.emit_helper(
      name, "Reshape",
      {draft.inputs[operand], builder.add_constant(name + "_shape", vector_of(shape))});
}

}  // namespace

void broadcast_as_numpy(Draft& draft, GraphBuilder& builder) {
  require_first_inputs(draft, 2);
  const Shape& first = builder.shape(draft.inputs[0]);
  const Shape& second = builder.shape(draft.inputs[1]);
  const bool broadcasts = draft.attributes.integer("broadcast", 0) != 0;
  if (!broadcasts && first != second) {
    throw Error(ErrorCode::kInvalidModel, "",
                "operands " + to_string(first) + " and " + to_string(second) + " differ")
        .expected("one shape, as `broadcast` is not set");
  }
  if (broadcasts && draft.attributes.has("axis")) {
    const std::size_t rank = first.size();
    align(draft, builder, 1, normalized_axis(draft.attributes.integer("axis"), rank), rank);
  }
  draft.attributes.erase("broadcast");
  draft.attributes.erase("axis");
}

void slope_by_channel(Draft& draft, GraphBuilder& builder) {
  require_first_inputs(draft, 2);
  const std::size_t rank = builder.shape(draft.inputs[0]).size();
  if (element_count(builder.shape(draft.inputs[1])) > 1 && rank > 1) {
    align(draft, builder, 1, 1, rank);
  }
}

void flatten_softmax(Draft& draft, GraphBuilder& builder) {
  require_first_inputs(draft, 1);
  require_count(draft.outputs.size(), 1, "results");
  const Shape shape = builder.shape(draft.inputs[0]);
  if (shape.empty()) {
    return;  // a rule of the operator itself is broken; inference will say which
  }
  const std::size_t axis = normalized_axis(draft.attributes.integer("axis", 1), shape.size());
  const auto behind = shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1;
  if (std::all_of(behind, shape.end(), [](std::int64_t extent) { return extent == 1; })) {
    draft.attributes.set("axis", static_cast<std::int64_t>(axis));
    return;
  }
  const std::string name = draft.name;
  const ValueId flat = builder.emit_helper(name + "_flat", "Flatten", {draft.inputs[0]},
                                           {{"axis", static_cast<std::int64_t>(axis)}});
  Draft rows{name, draft.op, {flat}, {builder.fresh_name(name + "_rows")}, {}};
  rows.attributes.set("axis", std::int64_t{-1});
  const ValueId softmax = builder.emit(std::move(rows)).front();
  const ValueId extents = builder.extents_of(draft.inputs[0], name + "_shape");
  draft.name = builder.fresh_name(name + "_unflat");
  draft.op = "Reshape";
  draft.inputs = {softmax, extents};
  draft.attributes =
      element_count(shape) > 0 ? Attributes{} : Attributes{{"allowzero", std::int64_t{1}}};
}

void pad_all_axes(Draft& draft, GraphBuilder& builder) {
  constexpr std::size_t kPads = 1;
  constexpr std::size_t kAxes = 3;
  if (!draft.has_input(kAxes)) {
    return;
  }
  require_first_inputs(draft, 2);
  const std::size_t rank = builder.shape(draft.inputs[0]).size();
  const auto axes = unique_axes(builder.required(draft, kAxes).to_int64(), rank);
  const auto pads = builder.required(draft, kPads).to_int64();
  require_count(pads.size(), 2 * axes.size(), "pads");
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(axes.size());
  const std::vector<std::int64_t> none(rank, 0);
  auto all = spread(none, {pads.begin(), middle}, axes, "pads");
  const auto ends = spread(none, {middle, pads.end()}, axes, "pads");
  all.insert(all.end(), ends.begin(), ends.end());
  draft.inputs.resize(kAxes);
  draft.inputs[kPads] = builder.add_constant(draft.name + "_pads", vector_of(all));
}

void reduce_axes_to_attribute(Draft& draft, GraphBuilder& builder) {
  constexpr std::size_t kAxes = 1;
  require_first_inputs(draft, 1);
  const bool keeps_all = draft.attributes.integer("noop_with_empty_axes", 0) != 0;
  draft.attributes.erase("noop_with_empty_axes");
  std::vector<std::int64_t> axes;
  if (draft.has_input(kAxes)) {
    axes = builder.required(draft, kAxes).to_int64();
  }
  draft.inputs.resize(1);
  if (!axes.empty()) {
    draft.attributes.set("axes", std::move(axes));
  } else if (keeps_all) {
    draft.op = "Identity";
    draft.attributes = {};
  }
}

void split_evenly(Draft& draft, GraphBuilder& builder) {
  require_first_inputs(draft, 1);
  if (!draft.attributes.has("num_outputs")) {
    return;
  }
  const auto parts = static_cast<std::int64_t>(draft.outputs.size());
  if (const std::int64_t given = draft.attributes.integer("num_outputs"); given != parts) {
    throw Error(ErrorCode::kInvalidModel, "",
                "attribute 'num_outputs' is " + std::to_string(given))
        .expected(std::to_string(parts));
  }
  draft.attributes.erase("num_outputs");
  const Shape& shape = builder.shape(draft.inputs[0]);
  const auto axis = normalized_axis(draft.attributes.integer("axis", 0), shape.size());
  if (shape[axis] % parts == 0) {
    return;  // equal parts are the default
  }
  const std::int64_t part = (shape[axis] + parts - 1) / parts;
  std::vector<std::int64_t> sizes;
  for (std::int64_t left = shape[axis]; sizes.size() < draft.outputs.size(); left -= part) {
    sizes.push_back(std::clamp<std::int64_t>(left, 0, part));
  }
  draft.set_input(1, builder.add_constant(draft.name + "_split", vector_of(sizes)));
}

namespace {

constexpr std::size_t kRoi = 1;
constexpr std::size_t kScales = 2;
constexpr std::size_t kSizes = 3;

/// ONNX Runtime, the measure for opset 10, rounds up along axes that shrink.
bool shrinks(const Tensor* scales) {
  if (scales == nullptr) {
    return false;
  }
  const auto factors = scales->to_double();
  const auto [least, most] = std::minmax_element(factors.begin(), factors.end());
  const bool shrinking = !factors.empty() && *least < 1;
  if (shrinking && *most > 1) {
    throw Error(ErrorCode::kUnsupported, "",
                "growing along one axis while shrinking along another is not supported");
  }
  return shrinking;
}

}  // namespace

void to_resize(Draft& draft, GraphBuilder& builder) {
  require_first_inputs(draft, 2);
  const Tensor* scales = builder.decisive(draft.inputs[1]);
  draft.op = "Resize";
  draft.inputs = {draft.inputs[0], ValueId{}, draft.inputs[1]};
  if (draft.attributes.text("mode", "nearest") == "bilinear") {
    draft.attributes.set("mode", std::string("linear"));
  }
  draft.attributes.set("coordinate_transformation_mode", std::string("asymmetric"));
  draft.attributes.set("nearest_mode", std::string(shrinks(scales) ? "ceil" : "floor"));
}

void drop_empty_resize_operands(Draft& draft, GraphBuilder& builder) {
  for (std::size_t i = kRoi; i < draft.inputs.size(); ++i) {
    if (draft.has_input(i) && element_count(builder.shape(draft.inputs[i])) == 0) {
      draft.inputs[i] = {};
    }
  }
}

void resize_all_axes(Draft& draft, GraphBuilder& builder) {
  require_first_inputs(draft, 1);
  if (draft.attributes.integer("antialias", 0) == 0) {
    draft.attributes.erase("antialias");
  }
  const std::string policy = draft.attributes.text("keep_aspect_ratio_policy", "stretch");
  const std::string transformation =
      draft.attributes.text("coordinate_transformation_mode", "half_pixel");
  if (policy != "stretch" || transformation == "half_pixel_symmetric") {
    throw Error(ErrorCode::kUnsupported, "",
                "keep_aspect_ratio_policy '" + policy + "' with coordinates '" +
                    transformation + "' is not supported");
  }
  draft.attributes.erase("keep_aspect_ratio_policy");
  if (!draft.attributes.has("axes")) {
    return;
  }
  const Shape shape = builder.shape(draft.inputs[0]);
  const auto axes = unique_axes(draft.attributes.integers("axes"), shape.size());
  draft.attributes.erase("axes");
  if (transformation == "tf_crop_and_resize") {
    throw Error(ErrorCode::kUnsupported, "", "a region for some axes is not supported");
  }
  if (draft.has_input(kScales) && builder.required(draft, kScales).size() > 0) {
    const auto scales = spread(std::vector<float>(shape.size(), 1.0F),
                               builder.required(draft, kScales).to_float(), axes, "scales");
    draft.set_input(kScales, builder.add_constant(draft.name + "_scales", vector_of(scales)));
  }
  if (draft.has_input(kSizes) && builder.required(draft, kSizes).size() > 0) {
    const auto sizes = spread(shape, builder.required(draft, kSizes).to_int64(), axes, "sizes");
    draft.set_input(kSizes, builder.add_constant(draft.name + "_sizes", vector_of(sizes)));
  }
}

}  // namespace tare
