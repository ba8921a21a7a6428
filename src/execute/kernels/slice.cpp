#include "tare/error.h"

#include "execute/elements/strided_copy.h"
#include "execute/operands.h"

#include <numeric>

namespace tare {
namespace {

struct Cut {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

/// ONNX (and Python) semantics: negative positions count from the end, then both are clamped.
Cut make_cut(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t extent) {
  if (step == 0 || step == std::numeric_limits<std::int64_t>::min()) {
    throw Error(ErrorCode::kInvalidModel, "", "step " + std::to_string(step));
  }
  const bool up = step > 0;
  const auto clamped = [&](std::int64_t position) {
    const std::int64_t from_start = position < 0 ? position + extent : position;
    return std::clamp(from_start, up ? std::int64_t{0} : std::int64_t{-1},
                      up ? extent : extent - 1);
  };
  const std::int64_t first = clamped(start);
  const std::int64_t last = clamped(end);
  const std::int64_t distance = up ? last - first : first - last;
  const std::int64_t stride = up ? step : -step;
  return {first, step, distance > 0 ? (distance - 1) / stride + 1 : 0};
}

std::vector<std::int64_t> optional_integers(const KernelRequest& request, std::size_t operand,
                                            std::vector<std::int64_t> fallback) {
  return request.has_input(operand) ? request.integers(operand) : std::move(fallback);
}

std::unique_ptr<Kernel> make_slice(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Operand& y = request.outputs[0];
  if (!uniform(request, 1)) {
    return nullptr;
  }
  const auto starts = request.integers(1);
  const auto ends = request.integers(2);
  std::vector<std::int64_t> every(starts.size());
  std::iota(every.begin(), every.end(), 0);
  const auto axes = optional_integers(request, 3, every);
  const auto steps = optional_integers(request, 4, std::vector<std::int64_t>(starts.size(), 1));
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    throw Error(ErrorCode::kInvalidModel, "", "starts, ends, axes and steps differ in length");
  }
  Shape shape = x.shape();
  Walk from{x.strides()};
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t axis = normalized_axis(axes[i], shape.size());
    const Cut cut = make_cut(starts[i], ends[i], steps[i], x.shape()[axis]);
    shape[axis] = cut.count;
    from.offset += cut.start * x.strides()[axis];
    from.strides[axis] = cut.count > 1 ? x.strides()[axis] * cut.step : 0;
  }
  expect_shape(y, shape);
  return copy_kernel({x.dtype(), shape, {y.strides()}, from});
}

}  // namespace
}  // namespace tare

TARE_KERNEL(slice) {
  using namespace tare;
  return {.ops = {"Slice"}, .layout = follow, .make = make_slice};
}
