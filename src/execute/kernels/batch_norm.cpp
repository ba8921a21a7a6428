// BatchNormalization of ONNX in inference: factor and offset of each channel are made once a
// run, then one multiplication and addition for each element. Most have been folded into the
// layer before them when a graph was prepared.
#include "execute/elements/dispatch.h"
#include "execute/operands.h"

#include <cmath>

namespace tare {
namespace {

/// The input as [outer][channels][inner]; inner is 1 where channels vary fastest.
struct Extents {
  std::int64_t outer = 0;
  std::int64_t channels = 0;
  std::int64_t inner = 0;
};

Extents extents_of(const Operand& operand) {
  const std::int64_t channels = operand.shape()[1];
  const std::int64_t batch = operand.shape()[0];
  std::int64_t positions = 1;
  for (std::size_t i = 2; i < operand.shape().size(); ++i) {
    positions *= operand.shape()[i];
  }
  return operand.layout == Layout::kChannelsLast ? Extents{batch * positions, channels, 1}
                                                 : Extents{batch, channels, positions};
}

template <class T>
void run(const Extents& extents, float epsilon, const Buffers& buffers) {
  const auto operand = [&](std::size_t i) { return input<T>(buffers, i); };
  const auto [outer, channels, inner] = extents;
  T* factor = reinterpret_cast<T*>(buffers.scratch);
  T* offset = factor + channels;
  for (std::int64_t c = 0; c < channels; ++c) {
    factor[c] = operand(1)[c] / std::sqrt(operand(4)[c] + static_cast<T>(epsilon));
    offset[c] = operand(2)[c] - operand(3)[c] * factor[c];
  }
  const T* x = operand(0);
  T* y = output<T>(buffers, 0);
  for (std::int64_t o = 0; o < outer; ++o) {
    if (inner == 1) {
      for (std::int64_t c = 0; c < channels; ++c) {
        y[c] = x[c] * factor[c] + offset[c];
      }
    } else {
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t i = 0; i < inner; ++i) {
          y[c * inner + i] = x[c * inner + i] * factor[c] + offset[c];
        }
      }
    }
    x += channels * inner;
    y += channels * inner;
  }
}

std::unique_ptr<Kernel> make_batch_norm(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  if (request.attributes().integer("training_mode", 0) != 0 || request.inputs.size() != 5 ||
      x.shape().size() < 2 || !uniform(request)) {
    return nullptr;
  }
  expect_shape(request.outputs[0], x.shape());
  for (std::size_t i = 1; i < 5; ++i) {
    expect_shape(request.inputs[i], {x.shape()[1]});
  }
  const Extents extents = extents_of(x);
  const float epsilon = request.attributes().real("epsilon", 1e-5F);
  return dispatch(Types<float, double>{}, x.dtype(), [&]<class T>(Tag<T>) {
    return make_kernel(
        [extents, epsilon](const Buffers& buffers) { run<T>(extents, epsilon, buffers); },
        static_cast<std::size_t>(2 * extents.channels) * sizeof(T));
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(batch_norm) {
  using namespace tare;
  return {.ops = {"BatchNormalization"},
          .layout = follow,
          .make = make_batch_norm,
          .in_place = true};
}
