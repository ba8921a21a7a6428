// ReverseSequence of ONNX: of each element of the batch, the first steps of its sequence come
// in the other order, as many as its length says.
#include "tare/error.h"

#include "execute/elements/dispatch.h"
#include "execute/operands.h"

#include <cstring>

namespace tare {
namespace {

struct Sequences {
  std::size_t steps = 0;
  std::size_t batch = 0;
  std::size_t step_stride = 0;   ///< in bytes
  std::size_t batch_stride = 0;  ///< in bytes
  std::size_t bytes = 0;         ///< of one step of one sequence
};

void run(const Sequences& all, const Buffers& buffers) {
  for (std::size_t n = 0; n < all.batch; ++n) {
    const std::int64_t length = input<std::int64_t>(buffers, 1)[n];
    if (length < 0 || length > static_cast<std::int64_t>(all.steps)) {
      throw Error(
          ErrorCode::kInvalidData, "",
          "the length of sequence " + std::to_string(n) + " is " + std::to_string(length))
          .expected("0 to " + std::to_string(all.steps));
    }
    const auto reversed = static_cast<std::size_t>(length);
    for (std::size_t t = 0; t < all.steps; ++t) {
      const std::size_t from = t < reversed ? reversed - 1 - t : t;
      std::memcpy(buffers.outputs[0] + n * all.batch_stride + t * all.step_stride,
                  buffers.inputs[0] + n * all.batch_stride + from * all.step_stride, all.bytes);
    }
  }
}

std::unique_ptr<Kernel> make_reverse_sequence(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Operand& lengths = required(request, 1);
  const Shape& shape = x.shape();
  const std::int64_t time = request.attributes().integer("time_axis", 0);
  const std::int64_t batch = request.attributes().integer("batch_axis", 1);
  if (shape.size() < 2 || time + batch != 1 || time * batch != 0) {
    throw Error(ErrorCode::kInvalidModel, "", "time_axis and batch_axis are not 0 and 1");
  }
  expect_shape(request.outputs[0], shape);
  expect_shape(lengths, {shape[static_cast<std::size_t>(batch)]});
  if (lengths.dtype() != DType::kInt64 || x.dtype() != request.outputs[0].dtype()) {
    return nullptr;
  }
  const auto outer = static_cast<std::size_t>(shape[0]);
  const auto inner = static_cast<std::size_t>(shape[1]);
  const std::size_t bytes = count_of(x) / (outer * inner) * size_of(x.dtype());
  const Sequences all = time == 0 ? Sequences{outer, inner, inner * bytes, bytes, bytes}
                                  : Sequences{inner, outer, bytes, inner * bytes, bytes};
  return make_kernel([all](const Buffers& buffers) { run(all, buffers); });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(reverse_sequence) {
  return {.ops = {"ReverseSequence"}, .make = tare::make_reverse_sequence};
}
