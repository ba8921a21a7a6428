// Operators on images of opsets 18 and 20 by those of opset 17: CenterCropPad, Col2Im and
// AffineGrid.
#include "tare/error.h"

#include "onnx/constants.h"
#include "onnx/normalize/node_parts.h"
#include "onnx/normalize/rules.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace tare {
namespace {

using Integers = std::vector<std::int64_t>;

/// What is made here holds for these extents only.
void depend_on_extents(const NodeParts& parts, GraphBuilder& builder) {
  (void)builder.decisive(builder.extents_of(parts.input(0), "extents"));
}

/// From -1 to 1, at the centres of pixels or from the first to the last one.
double place_on_axis(std::int64_t i, std::int64_t extent, bool aligns_corners) {
  const auto all = static_cast<double>(extent);
  if (aligns_corners) {
    return extent == 1 ? 0 : 2 * static_cast<double>(i) / (all - 1) - 1;
  }
  return (2 * static_cast<double>(i) + 1) / all - 1;
}

/// Places of all points and a 1 each, [points, rank + 1]: x first, which varies fastest.
Tensor places(const Shape& extents, bool aligns_corners) {
  const std::size_t rank = extents.size();
  const std::int64_t points = element_count(extents);
  Tensor table(DType::kFloat32, {points, static_cast<std::int64_t>(rank) + 1});
  auto numbers = table.mutable_view<float>();
  for (std::int64_t point = 0; point < points; ++point) {
    std::int64_t rest = point;
    float* row = &numbers[static_cast<std::size_t>(point) * (rank + 1)];
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const std::int64_t extent = extents[rank - 1 - axis];
      row[axis] = static_cast<float>(place_on_axis(rest % extent, extent, aligns_corners));
      rest /= extent;
    }
    row[rank] = 1;
  }
  return table;
}

/// Each pixel of a block at its own place: [channels * pixels, 1, block...].
Tensor one_pixel_each(std::int64_t channels, const Shape& block) {
  const std::int64_t pixels = element_count(block);
  Shape shape{channels * pixels, 1};
  shape.insert(shape.end(), block.begin(), block.end());
  Tensor weight(DType::kFloat32, std::move(shape));
  auto numbers = weight.mutable_view<float>();
  for (std::int64_t i = 0; i < channels * pixels; ++i) {
    numbers[static_cast<std::size_t>(i * pixels + i % pixels)] = 1;
  }
  return weight;
}

}  // namespace

void expand_center_crop_pad(Draft& draft, GraphBuilder& builder) {
  const Integers target = builder.required(draft, 1).to_int64();
  NodeParts parts(draft, builder);
  ValueId data = parts.input(0);
  const Shape shape = parts.shape(data);
  const auto rank = static_cast<std::int64_t>(shape.size());
  Integers axes(shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = parts.attributes().integers("axes", axes);
  if (axes.size() != target.size()) {
    throw Error(ErrorCode::kInvalidModel, "",
                "has " + std::to_string(target.size()) + " extents for " +
                    std::to_string(axes.size()) + " axes");
  }
  depend_on_extents(parts, builder);
  Integers pads(2 * shape.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = normalized_axis(axes[i], shape.size());
    const std::int64_t surplus = shape[axis] - target[i];
    if (surplus > 0) {
      const std::int64_t begin = surplus / 2;
      data = parts.slice("cropped_" + std::to_string(axis), data,
                         static_cast<std::int64_t>(axis), begin, begin + target[i]);
    } else {
      pads[axis] = -surplus / 2;
      pads[axis + static_cast<std::size_t>(rank)] = -surplus - pads[axis];
    }
  }
  parts.finish("Pad", {data, parts.integers("pads", pads)}, {});
}

void expand_col2im(Draft& draft, GraphBuilder& builder) {
  const Shape image = builder.required(draft, 1).to_int64();
  const Shape block = builder.required(draft, 2).to_int64();
  NodeParts parts(draft, builder);
  const Shape shape = parts.shape(parts.input(0));
  const std::size_t axes = image.size();
  const Attributes& attributes = parts.attributes();
  const Integers dilations = attributes.integers("dilations", Integers(axes, 1));
  const Integers strides = attributes.integers("strides", Integers(axes, 1));
  const Integers pads = attributes.integers("pads", Integers(2 * axes, 0));
  const std::int64_t pixels = element_count(block);
  if (shape.size() != 3 || block.size() != axes || dilations.size() != axes ||
      strides.size() != axes || pads.size() != 2 * axes || pixels < 1 ||
      shape[1] % pixels != 0 ||
      std::any_of(strides.begin(), strides.end(), [](auto stride) { return stride < 1; })) {
    throw Error(ErrorCode::kInvalidModel, "",
                "columns of shape " + to_string(shape) + " for blocks " + to_string(block) +
                    " of images " + to_string(image));
  }
  const std::int64_t channels = shape[1] / pixels;
  Integers columns{0, shape[1]};
  Integers missing;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t reach =
        image[i] + pads[i] + pads[i + axes] - dilations[i] * (block[i] - 1) - 1;
    columns.push_back(reach / strides[i] + 1);
    missing.push_back(reach % strides[i]);
  }
  const ValueId grid = parts.reshape("blocks", parts.input(0), columns);
  const ValueId weight = parts.constant("pixels", one_pixel_each(channels, block));
  parts.finish("ConvTranspose", {grid, weight},
               {{"dilations", dilations},
                {"group", channels},
                {"output_padding", missing},
                {"pads", pads},
                {"strides", strides}});
}

void expand_affine_grid(Draft& draft, GraphBuilder& builder) {
  const Shape size = builder.required(draft, 1).to_int64();
  NodeParts parts(draft, builder);
  const ValueId theta = parts.input(0);
  if (size.size() < 4 || size.size() > 5 || parts.rank(theta) != 3 || !is_addressable(size)) {
    throw Error(ErrorCode::kInvalidModel, "",
                "a grid for " + to_string(size) + " by " + to_string(parts.shape(theta)));
  }
  const Shape extents(size.begin() + 2, size.end());
  const bool aligns = parts.attributes().integer("align_corners", 0) != 0;
  const ValueId table = parts.constant("places", places(extents, aligns));
  const ValueId turned = parts.transpose("theta", theta, {0, 2, 1});
  const ValueId moved = parts.add("moved", "MatMul", {table, turned});
  Integers shape{0};
  shape.insert(shape.end(), extents.begin(), extents.end());
  shape.push_back(static_cast<std::int64_t>(extents.size()));
  parts.finish("Reshape", {moved, parts.integers("shape", shape)});
}

void dft_axis_to_attribute(Draft& draft, GraphBuilder& builder) {
  constexpr std::size_t kAxis = 2;
  std::int64_t axis = -2;
  if (draft.has_input(kAxis)) {
    axis = builder.required(draft, kAxis).to_int64().at(0);
    draft.inputs.resize(kAxis);
  }
  if (!draft.has_input(0)) {
    return;  // the schema says so
  }
  const auto rank = builder.shape(draft.inputs[0]).size();
  draft.attributes.set("axis", static_cast<std::int64_t>(normalized_axis(axis, rank)));
}

}  // namespace tare
