// SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND: positions of blocks become images, and back. In
// three or four axes, of which the first has the images and the last the channels.
#include "graph/operators/permute.h"
#include "tflite/operators.h"

#include <algorithm>

namespace tare::tflite {
namespace {

struct Blocks {
  std::vector<std::int64_t> sizes;   ///< of each axis between the first and the last
  std::vector<std::int64_t> around;  ///< before and after, of each of these axes
  std::int64_t area = 1;

  std::size_t axes() const { return sizes.size(); }
  std::int64_t before(std::size_t axis) const { return around[2 * axis]; }
  std::int64_t after(std::size_t axis) const { return around[2 * axis + 1]; }
};

Blocks blocks_of(const OperatorImport& op) {
  constexpr std::int64_t kMost = 1 << 11;  // so that no extent overflows
  Blocks blocks{.sizes = op.integers(1), .around = op.integers(2)};
  if (op.rank(0) < 3 || op.rank(0) > 4) {
    op.unsupported("has an operand of shape " + to_string(op.shape(0)), "three or four axes");
  }
  const auto is_within = [](std::int64_t low) {
    return [low](std::int64_t value) { return value >= low && value <= kMost; };
  };
  if (blocks.axes() != op.rank(0) - 2 || blocks.around.size() != 2 * blocks.axes() ||
      !std::all_of(blocks.sizes.begin(), blocks.sizes.end(), is_within(1)) ||
      !std::all_of(blocks.around.begin(), blocks.around.end(), is_within(0))) {
    op.refuse("has blocks of " + to_string(blocks.sizes) + " and " + to_string(blocks.around) +
              " around them, in " + to_string(op.shape(0)));
  }
  for (const std::int64_t size : blocks.sizes) {
    blocks.area *= size;
  }
  return blocks;
}

ValueId padded(OperatorImport& op, const Blocks& blocks) {
  const ValueId x = op.value(0, Order::kFile);
  if (std::all_of(blocks.around.begin(), blocks.around.end(),
                  [](std::int64_t count) { return count == 0; })) {
    return x;
  }
  Shape shape = op.shape(0);
  std::vector<std::int64_t> pads(2 * shape.size());
  for (std::size_t i = 0; i < blocks.axes(); ++i) {
    pads[i + 1] = blocks.before(i);
    pads[i + 1 + shape.size()] = blocks.after(i);
    shape[i + 1] += blocks.before(i) + blocks.after(i);
  }
  return op.add("Pad", {x, op.indices(pads)}, shape, {{"mode", std::string("constant")}});
}

ValueId transposed(OperatorImport& op, ValueId x, const std::vector<std::int64_t>& order) {
  return op.add("Transpose", {x}, permuted(op.shape_of(x), order), {{"perm", order}});
}

}  // namespace

void space_to_batch(OperatorImport& op, std::string_view) {
  const Blocks blocks = blocks_of(op);
  const ValueId x = padded(op, blocks);
  const Shape shape = op.shape_of(x);
  Shape parts{shape[0]};
  Shape result{shape[0] * blocks.area};
  std::vector<std::int64_t> within;  // axes of positions in a block
  std::vector<std::int64_t> order{0};
  for (std::size_t i = 0; i < blocks.axes(); ++i) {
    if (shape[i + 1] % blocks.sizes[i] != 0) {
      op.refuse("has blocks of " + to_string(blocks.sizes) + " in " + to_string(shape));
    }
    parts.insert(parts.end(), {shape[i + 1] / blocks.sizes[i], blocks.sizes[i]});
    result.push_back(shape[i + 1] / blocks.sizes[i]);
    order.push_back(static_cast<std::int64_t>(2 * i + 1));
    within.push_back(static_cast<std::int64_t>(2 * i + 2));
  }
  parts.push_back(shape.back());
  result.push_back(shape.back());
  order.push_back(static_cast<std::int64_t>(parts.size()) - 1);
  order.insert(order.begin(), within.begin(), within.end());
  const ValueId split = op.reshaped(x, parts);
  op.define(Order::kFile, op.reshaped(transposed(op, split, order), result));
}

void batch_to_space(OperatorImport& op, std::string_view) {
  const Blocks blocks = blocks_of(op);
  const Shape& shape = op.shape(0);
  if (shape[0] % blocks.area != 0) {
    op.refuse("makes blocks of " + to_string(blocks.sizes) + " of " + to_string(shape));
  }
  const auto axes = static_cast<std::int64_t>(blocks.axes());
  Shape parts = blocks.sizes;
  parts.push_back(shape[0] / blocks.area);
  parts.insert(parts.end(), shape.begin() + 1, shape.end());
  Shape whole{shape[0] / blocks.area};
  std::vector<std::int64_t> order{axes};
  for (std::int64_t i = 0; i < axes; ++i) {
    const auto at = static_cast<std::size_t>(i);
    order.insert(order.end(), {axes + 1 + i, i});
    whole.push_back(shape[at + 1] * blocks.sizes[at]);
  }
  order.push_back(2 * axes + 1);
  whole.push_back(shape.back());
  const ValueId split = op.reshaped(op.value(0, Order::kFile), parts);
  ValueId y = op.reshaped(transposed(op, split, order), whole);

  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> end;
  std::vector<std::int64_t> cropped;
  Shape result = whole;
  for (std::int64_t i = 0; i < axes; ++i) {
    const auto at = static_cast<std::size_t>(i);
    begin.push_back(blocks.before(at));
    end.push_back(whole[at + 1] - blocks.after(at));
    cropped.push_back(i + 1);
    result[at + 1] = end.back() - begin.back();
    if (result[at + 1] < 0) {
      op.refuse("crops " + to_string(whole) + " by " + to_string(blocks.around));
    }
  }
  if (result != whole) {
    y = op.add("Slice", {y, op.indices(begin), op.indices(end), op.indices(cropped)}, result);
  }
  op.define(Order::kFile, y);
}

}  // namespace tare::tflite
