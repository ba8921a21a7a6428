#include "tare/error.h"

#include "execute/elements/indexed_copy.h"
#include "execute/operands.h"

namespace tare {
namespace {

enum class Mode : std::uint8_t { kConstant, kReflect, kEdge, kWrap };

Mode mode_of(const KernelRequest& request) {
  const std::string name = request.attributes().text("mode", "constant");
  if (name == "constant") {
    return Mode::kConstant;
  }
  if (name == "wrap") {
    return Mode::kWrap;
  }
  if (name != "reflect" && name != "edge") {
    throw Error(ErrorCode::kUnsupported, "", "mode '" + name + "'")
        .expected("constant, reflect, edge or wrap");
  }
  return name == "edge" ? Mode::kEdge : Mode::kReflect;
}

/// Where position i of the padded axis comes from; i may lie outside of [0, extent).
std::int64_t source(Mode mode, std::int64_t i, std::int64_t extent) {
  if (i >= 0 && i < extent) {
    return i;
  }
  if (mode == Mode::kConstant || extent == 0) {
    return -1;
  }
  if (mode == Mode::kEdge || extent == 1) {
    return i < 0 ? 0 : extent - 1;
  }
  if (mode == Mode::kWrap) {
    return (i % extent + extent) % extent;
  }
  // Mirrored at the first and the last element, as often as needed.
  const std::int64_t period = 2 * (extent - 1);
  const std::int64_t phase = (i % period + period) % period;
  return phase < extent ? phase : period - phase;
}

std::unique_ptr<Kernel> make_pad(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Operand& y = request.outputs[0];
  if (!uniform(request, 1) ||
      (request.has_input(2) && request.inputs[2].dtype() != x.dtype())) {
    return nullptr;
  }
  if (request.has_input(2)) {
    expect_count(request.inputs[2], 1);
  }
  const std::size_t rank = x.shape().size();
  const auto pads = request.integers(1);
  if (pads.size() != 2 * rank) {
    throw Error(ErrorCode::kInvalidModel, "", std::to_string(pads.size()) + " pads")
        .expected(std::to_string(2 * rank));
  }
  Shape shape = x.shape();
  for (std::size_t axis = 0; axis < rank; ++axis) {
    shape[axis] += pads[axis] + pads[axis + rank];
  }
  expect_shape(y, shape);
  const Mode mode = mode_of(request);
  std::vector<IndexedCopy::Map> maps(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    for (std::int64_t i = 0; i < shape[axis]; ++i) {
      maps[axis].push_back(source(mode, i - pads[axis], x.shape()[axis]));
    }
  }
  return make_kernel([copy = IndexedCopy(y, x, maps)](const Buffers& buffers) {
    const std::byte* fill = buffers.inputs.size() > 2 ? buffers.inputs[2] : nullptr;
    copy(buffers.inputs[0], buffers.outputs[0], fill);
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(pad) {
  using namespace tare;
  return {.ops = {"Pad"}, .layout = follow, .make = make_pad};
}
