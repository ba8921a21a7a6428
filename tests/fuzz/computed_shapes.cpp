#include "fuzz/computed_shapes.h"

#include <algorithm>

namespace tare::fuzz {
namespace {

std::int64_t largest(const Drawing& d, ValueId x, std::size_t axis) {
  std::int64_t most = 0;
  for (const Shape& shape : d.shapes_of(x)) {
    most = std::max(most, shape[axis]);
  }
  return most;
}

/// Reshape to [first extent, the rest].
ValueId flattened(Drawing& d, ValueId x) {
  const ValueId target = d.op("Concat", {extent_of(d, x, 0, false), d.integers({-1})},
                              d.always({2}), {{"axis", std::int64_t{0}}}, DType::kInt64);
  return d.op("Reshape", {x, target}, d.each(x, [](const Shape& s) {
    return Shape{s[0], element_count(s) / s[0]};
  }));
}

/// Adds the first rows of a table, as many as the second extent says.
std::optional<ValueId> with_positions(Drawing& d, ValueId x) {
  const std::size_t last = d.rank_of(x) - 1;
  if (last != 2 || !d.is_fixed(x, last)) {
    return {};
  }
  const std::int64_t width = d.shape_of(x)[last];
  const ValueId table = d.constant({largest(d, x, 1) * 13, width});  // room for others
  const ValueId rows =
      d.op("Slice", {table, d.integers({0}), extent_of(d, x, 1, false), d.integers({0})},
           d.each(x, [](const Shape& s) {
             return Shape{s[1], s[2]};
           }));
  return d.op("Add", {x, rows}, d.shapes_of(x));
}

/// Zeros in the second half of the second axis.
ValueId masked(Drawing& d, ValueId x) {
  const auto length = [](const Shape& s) { return Shape{s[1]}; };
  const ValueId places =
      d.op("Range",
           {d.constant_of(Tensor::scalar<std::int64_t>(0)), extent_of(d, x, 1, true),
            d.constant_of(Tensor::scalar<std::int64_t>(1))},
           d.each(x, length), {}, DType::kInt64);
  const ValueId half = d.op("Div", {extent_of(d, x, 1, false), d.integers({2})}, d.always({1}),
                            {}, DType::kInt64);
  const ValueId kept = d.op("LessOrEqual", {places, half}, d.each(x, length), {}, DType::kBool);
  Integers axes;
  for (std::size_t axis = 2; axis < d.rank_of(x); ++axis) {
    axes.push_back(static_cast<std::int64_t>(axis) - 1);
  }
  const ValueId condition = axes.empty() ? kept
                                         : d.op("Unsqueeze", {kept, d.integers(axes)},
                                                d.each(x,
                                                       [](const Shape& s) {
                                                         Shape result(s.size() - 1, 1);
                                                         result[0] = s[1];
                                                         return result;
                                                       }),
                                                {}, DType::kBool);
  return d.op("Where", {condition, x, d.scalar(0)}, d.shapes_of(x));
}

/// An image grows to the size of another value.
std::optional<ValueId> grown(Drawing& d, ValueId x) {
  if (d.rank_of(x) != 4) {
    return {};
  }
  for (const ValueId other : d.values) {
    if (other == x || d.rank_of(other) != 4 || d.shapes_of(other) == d.shapes_of(x)) {
      continue;
    }
    const ValueId own = d.op("Shape", {x}, d.always({4}), {}, DType::kInt64);
    const ValueId others = d.op("Shape", {other}, d.always({4}), {}, DType::kInt64);
    const ValueId sizes =
        d.op("Concat",
             {d.op("Slice", {own, d.integers({0}), d.integers({2}), d.integers({0})},
                   d.always({2}), {}, DType::kInt64),
              d.op("Slice", {others, d.integers({2}), d.integers({4}), d.integers({0})},
                   d.always({2}), {}, DType::kInt64)},
             d.always({4}), {{"axis", std::int64_t{0}}}, DType::kInt64);
    Shapes result = d.shapes_of(x);
    for (std::size_t i = 0; i < result.size(); ++i) {
      std::copy_n(d.shapes_of(other)[i].begin() + 2, 2, result[i].begin() + 2);
    }
    // The nearest one is a matter of rounding where a quotient of extents is no whole number.
    const bool is_linear = d.choose.coin() || d.kind.is_tame;
    return d.op("Resize", {x, {}, {}, sizes}, result,
                {{"mode", std::string(is_linear ? "linear" : "nearest")},
                 {"coordinate_transformation_mode", std::string("asymmetric")},
                 {"nearest_mode", std::string("floor")}});
  }
  return {};
}

}  // namespace

ValueId extent_of(Drawing& d, ValueId x, std::int64_t axis, bool is_scalar) {
  const auto rank = static_cast<std::int64_t>(d.rank_of(x));
  const ValueId all = d.op("Shape", {x}, d.always({rank}), {}, DType::kInt64);
  const ValueId place = is_scalar ? d.constant_of(Tensor::scalar(axis)) : d.integers({axis});
  return d.op("Gather", {all, place}, d.always(is_scalar ? Shape{} : Shape{1}),
              {{"axis", std::int64_t{0}}}, DType::kInt64);
}

std::optional<ValueId> layer_of_extents(Drawing& d, ValueId x) {
  switch (d.choose.below(4)) {
    case 0:
      return flattened(d, x);
    case 1:
      return with_positions(d, x);
    case 2:
      return masked(d, x);
    default:
      return grown(d, x);
  }
}

}  // namespace tare::fuzz
