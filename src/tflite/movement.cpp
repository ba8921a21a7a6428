// Operators that put elements elsewhere.
#include "graph/operators/permute.h"
#include "tflite/operators.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tare::tflite {
namespace {

/// Parts of operand `i` along an axis, each a result; sizes are those of the results.
void split_into_results(OperatorImport& op, std::size_t i, std::int64_t axis) {
  const Order order = op.order_of(i);
  const ValueId x = op.value(i, order);
  const auto at = static_cast<std::size_t>(axis_in(order, op.axis(axis, op.rank(i))));
  std::vector<std::int64_t> sizes;
  for (std::size_t result = 0; result < op.output_count(); ++result) {
    const Shape shape = op.output(result).type.shape;
    if (shape.size() != op.rank(i)) {
      op.refuse("makes shape " + to_string(shape) + " of " + to_string(op.shape(i)));
    }
    sizes.push_back(shape_in(order, shape)[at]);
  }
  const std::vector<ValueId> parts = op.split(x, at, sizes);
  for (std::size_t result = 0; result < parts.size(); ++result) {
    op.define(order, parts[result], result);
  }
}

/// What a Slice takes of one axis.
struct Steps {
  std::int64_t begin = 0;
  std::int64_t end = 0;  ///< kBeyond: through index 0, backwards
  std::int64_t step = 1;
  std::int64_t count = 0;
};

constexpr std::int64_t kBeyond = std::numeric_limits<std::int32_t>::min();

ValueId sliced(OperatorImport& op, Order order, const std::vector<Steps>& axes) {
  const ValueId x = op.value(0, order);
  Shape shape(axes.size());
  std::vector<std::int64_t> begin(axes.size());
  std::vector<std::int64_t> end(axes.size());
  std::vector<std::int64_t> step(axes.size());
  std::vector<std::int64_t> all(axes.size());
  std::iota(all.begin(), all.end(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto at = static_cast<std::size_t>(axis_in(order, static_cast<std::int64_t>(i)));
    begin[at] = axes[i].begin;
    end[at] = axes[i].end;
    step[at] = axes[i].step;
    shape[at] = axes[i].count;
  }
  return op.add("Slice",
                {x, op.indices(begin), op.indices(end), op.indices(all), op.indices(step)},
                shape);
}

bool is_set(std::int64_t mask, std::size_t bit) {
  return (mask >> bit & 1) != 0;
}

/// One axis of STRIDED_SLICE, as the masks say.
Steps strided_steps(const OperatorImport& op, const schema::StridedSliceOptions& masks,
                    std::size_t axis, std::int64_t extent) {
  const std::int64_t step = op.integers(3)[axis];
  std::int64_t begin = op.integers(1)[axis];
  std::int64_t end = op.integers(2)[axis];
  if (step == 0 || extent < 1) {
    op.refuse("takes steps of " + std::to_string(step) + " in an extent of " +
              std::to_string(extent));
  }
  const auto from_start = [&](std::int64_t index) {
    return index < 0 ? index + extent : index;
  };
  if (is_set(masks.shrink_axis_mask(), axis)) {
    const std::int64_t index = from_start(begin);
    if (index < 0 || index >= extent) {
      op.refuse("takes index " + std::to_string(begin) + " of " + std::to_string(extent));
    }
    return {index, index + 1, 1, 1};
  }
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? extent : extent - 1;
  begin = is_set(masks.begin_mask(), axis) ? (step > 0 ? low : high)
                                           : std::clamp(from_start(begin), low, high);
  end = is_set(masks.end_mask(), axis) ? (step > 0 ? high : low)
                                       : std::clamp(from_start(end), low, high);
  const std::int64_t span = step > 0 ? end - begin : begin - end;
  const std::int64_t stride = std::abs(step);
  return {begin, end < 0 ? kBeyond : end, step,
          std::max<std::int64_t>(0, (span + stride - 1) / stride)};
}

void pad_by(OperatorImport& op, const std::string& mode, ValueId with, bool leaves_edge) {
  const Order order = op.order_of(0);
  const std::vector<std::int64_t> around = op.integers(1);
  const std::size_t rank = op.rank(0);
  if (around.size() != 2 * rank) {
    op.refuse("pads by " + std::to_string(around.size()) + " numbers",
              std::to_string(2 * rank));
  }
  const ValueId x = op.value(0, order);
  Shape shape = op.shape_of(x);
  std::vector<std::int64_t> pads(2 * rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const auto at = static_cast<std::size_t>(axis_in(order, static_cast<std::int64_t>(i)));
    const std::int64_t most = mode == "constant" ? std::numeric_limits<std::int32_t>::max()
                                                 : shape[at] - (leaves_edge ? 1 : 0);
    for (const std::size_t side : {0U, 1U}) {
      const std::int64_t pad = around[2 * i + side];
      if (pad < 0 || pad > most) {
        op.refuse("pads " + to_string(op.shape(0)) + " by " + to_string(around));
      }
      pads[at + side * rank] = pad;
    }
    shape[at] += around[2 * i] + around[2 * i + 1];
  }
  std::vector<ValueId> operands{x, op.indices(pads)};
  if (with) {
    op.require_alike({x, with});
    operands.push_back(with);
  }
  op.define(order, op.add("Pad", operands, shape, {{"mode", mode}}));
}

}  // namespace

/// RESHAPE, SQUEEZE and EXPAND_DIMS: the result says its shape.
void reshape(OperatorImport& op, std::string_view) {
  op.define(Order::kFile, op.reshaped(op.value(0, Order::kFile), op.output().type.shape));
}

void transpose(OperatorImport& op, std::string_view) {
  const std::vector<std::int64_t> order = op.integers(1);
  if (!is_permutation(order, op.rank(0))) {
    op.refuse("orders axes as " + to_string(order) + " in " + to_string(op.shape(0)));
  }
  const ValueId x = op.value(0, Order::kFile);
  op.define(Order::kFile,
            op.add("Transpose", {x}, permuted(op.shape_of(x), order), {{"perm", order}}));
}

/// PAD with 0, and PADV2 with its third operand.
void pad(OperatorImport& op, std::string_view) {
  ValueId with;
  if (op.has_input(2)) {
    with = op.reshaped(op.value(2, Order::kFile), {});
  }
  pad_by(op, "constant", with, false);
}

void mirror_pad(OperatorImport& op, std::string_view) {
  if (op.options<schema::MirrorPadOptions>().mode() != schema::MirrorMode_REFLECT) {
    op.unsupported("repeats the edge", "mode REFLECT");
  }
  pad_by(op, "reflect", {}, true);
}

void concatenation(OperatorImport& op, std::string_view) {
  const auto& options = op.options<schema::ConcatenationOptions>();
  const Order order = op.rank(0) == kImageRank ? op.common_order() : Order::kFile;
  const auto at = static_cast<std::size_t>(axis_in(order, op.axis(options.axis(), op.rank(0))));
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    op.require_rank(i, op.rank(0));
    values.push_back(op.value(i, order));
  }
  op.define(order, op.activated(op.concatenated(values, at), options.activation()));
}

void pack(OperatorImport& op, std::string_view) {
  const std::int64_t axis = op.axis(op.options<schema::PackOptions>().axis(), op.rank(0) + 1);
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    Shape shape = op.shape(i);
    op.require_rank(i, op.rank(0));
    shape.insert(shape.begin() + axis, 1);
    values.push_back(op.reshaped(op.value(i, Order::kFile), shape));
  }
  op.define(Order::kFile, op.concatenated(values, static_cast<std::size_t>(axis)));
}

void unpack(OperatorImport& op, std::string_view) {
  const std::int64_t axis = op.axis(op.options<schema::UnpackOptions>().axis(), op.rank(0));
  const std::vector<ValueId> parts =
      op.split(op.value(0, Order::kFile), static_cast<std::size_t>(axis),
               std::vector<std::int64_t>(op.output_count(), 1));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Shape shape = op.shape_of(parts[i]);
    shape.erase(shape.begin() + axis);
    op.define(Order::kFile, op.reshaped(parts[i], shape), i);
  }
}

void split(OperatorImport& op, std::string_view) {
  split_into_results(op, 1, op.integer(0));
}

void split_v(OperatorImport& op, std::string_view) {
  split_into_results(op, 0, op.integer(2));
}

void slice(OperatorImport& op, std::string_view) {
  const std::vector<std::int64_t> begin = op.integers(1);
  const std::vector<std::int64_t> size = op.integers(2);
  if (begin.size() != op.rank(0) || size.size() != op.rank(0)) {
    op.refuse("takes " + to_string(size) + " from " + to_string(begin) + " of " +
              to_string(op.shape(0)));
  }
  std::vector<Steps> axes;
  for (std::size_t i = 0; i < begin.size(); ++i) {
    const std::int64_t extent = op.shape(0)[i];
    if (begin[i] < 0 || begin[i] > extent) {
      op.refuse("begins at " + to_string(begin) + " in " + to_string(op.shape(0)));
    }
    const std::int64_t count = size[i] == -1 ? extent - begin[i] : size[i];
    if (count < 0 || count > extent - begin[i]) {
      op.refuse("takes " + to_string(size) + " of " + to_string(op.shape(0)));
    }
    axes.push_back({begin[i], begin[i] + count, 1, count});
  }
  const Order order = op.order_of(0);
  op.define(order, sliced(op, order, axes));
}

void strided_slice(OperatorImport& op, std::string_view) {
  const auto& masks = op.options<schema::StridedSliceOptions>();
  if (masks.ellipsis_mask() != 0 || masks.new_axis_mask() != 0 || masks.offset()) {
    op.unsupported("takes a slice with an ellipsis, new axes, or ends counted from begins");
  }
  const std::size_t rank = op.rank(0);
  for (const std::size_t i : {1U, 2U, 3U}) {
    if (op.integers(i).size() != rank) {
      op.unsupported("takes a slice along " + std::to_string(op.integers(i).size()) + " of " +
                     std::to_string(rank) + " axes");
    }
  }
  std::vector<Steps> axes;
  for (std::size_t i = 0; i < rank; ++i) {
    axes.push_back(strided_steps(op, masks, i, op.shape(0)[i]));
  }
  const bool shrinks = masks.shrink_axis_mask() != 0;
  const Order order = shrinks ? Order::kFile : op.order_of(0);
  const ValueId y = sliced(op, order, axes);
  Shape shape;
  for (std::size_t i = 0; i < rank; ++i) {
    if (!is_set(masks.shrink_axis_mask(), i)) {
      shape.push_back(axes[i].count);
    }
  }
  op.define(order, shrinks ? op.reshaped(y, shape) : y);
}

void reverse(OperatorImport& op, std::string_view) {
  std::vector<Steps> axes;
  for (const std::int64_t extent : op.shape(0)) {
    axes.push_back({0, extent, 1, extent});
  }
  for (const std::int64_t axis : op.integers(1)) {
    const std::int64_t extent =
        op.shape(0)[static_cast<std::size_t>(op.axis(axis, op.rank(0)))];
    axes[static_cast<std::size_t>(op.axis(axis, op.rank(0)))] = {extent - 1, kBeyond, -1,
                                                                 extent};
  }
  const Order order = op.order_of(0);
  op.define(order, sliced(op, order, axes));
}

void gather(OperatorImport& op, std::string_view) {
  const auto* options = op.given_options<schema::GatherOptions>();
  if (options != nullptr && options->batch_dims() != 0) {
    op.unsupported("gathers with batch axes");
  }
  const std::int64_t axis = op.axis(options == nullptr ? 0 : options->axis(), op.rank(0));
  const DType indices = op.input(1).type.dtype;
  if (indices != DType::kInt32 && indices != DType::kInt64) {
    op.unsupported("has indices of type " + std::string(name_of(indices)), "i32 or i64");
  }
  Shape shape = op.shape(0);
  const auto at = shape.begin() + axis;
  shape.insert(shape.erase(at), op.shape(1).begin(), op.shape(1).end());
  op.define(Order::kFile,
            op.add("Gather", {op.value(0, Order::kFile), op.value(1, Order::kFile)}, shape,
                   {{"axis", axis}}));
}

void tile(OperatorImport& op, std::string_view) {
  const std::vector<std::int64_t> times = op.integers(1);
  Shape shape = op.shape(0);
  if (times.size() != shape.size()) {
    op.refuse("repeats " + to_string(shape) + " by " + to_string(times));
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (times[i] < 0 || __builtin_mul_overflow(shape[i], times[i], &shape[i])) {
      op.refuse("repeats " + to_string(op.shape(0)) + " by " + to_string(times));
    }
  }
  op.define(Order::kFile,
            op.add("Tile", {op.value(0, Order::kFile), op.indices(times)}, shape));
}

}  // namespace tare::tflite
