// AveragePoolGradient(dY) and MaxPoolGradient(dY, X): what pools of the same attributes give
// back to their operand, for learning. Of equal maxima the first one of a window counts.
// Additions: results times the size of the window.
#include "execute/elements/dispatch.h"
#include "execute/elements/pool_windows.h"
#include "execute/operands.h"

#include <algorithm>

namespace tare {
namespace {

void spread_averages(const Pool& pool, const Buffers& buffers) {
  const float* dy = input<float>(buffers, 0);
  float* dx = output<float>(buffers, 0);
  const std::int64_t channels = pool.channels;
  std::fill_n(dx, pool.batch * sample_size(pool), 0.0F);
  for_each_window(pool, [&](std::int64_t n, std::int64_t position, const auto& taps) {
    const float* from = dy + position * channels;
    std::int64_t count = 1;
    for (const PoolTaps& axis : taps) {
      count *= pool.include_pad ? axis.padded : axis.count;
    }
    const float share = 1 / static_cast<float>(count);
    for_each_tap(pool, taps, [&](std::int64_t tap) {
      float* to = dx + n * sample_size(pool) + tap * channels;
      for (std::int64_t c = 0; c < channels; ++c) {
        to[c] += from[c] * share;
      }
    });
  });
}

void give_to_maxima(const Pool& pool, const Buffers& buffers) {
  const float* dy = input<float>(buffers, 0);
  const float* x = input<float>(buffers, 1);
  float* dx = output<float>(buffers, 0);
  const std::int64_t channels = pool.channels;
  std::fill_n(dx, pool.batch * sample_size(pool), 0.0F);
  for_each_window(pool, [&](std::int64_t n, std::int64_t position, const auto& taps) {
    const std::int64_t sample = n * sample_size(pool);
    for (std::int64_t c = 0; c < channels; ++c) {
      std::int64_t best = -1;
      for_each_tap(pool, taps, [&](std::int64_t tap) {
        const std::int64_t at = sample + tap * channels + c;
        if (best < 0 || x[best] < x[at]) {
          best = at;
        }
      });
      if (best >= 0) {
        dx[best] += dy[position * channels + c];
      }
    }
  });
}

std::unique_ptr<Kernel> make_pool_gradient(const KernelRequest& request) {
  const Operand& dy = required(request, 0);
  const Operand& dx = request.outputs[0];
  const std::size_t rank = dx.shape().size();
  if (rank < 3 || rank > 5 || !all_f32(request)) {
    return nullptr;
  }
  const bool of_maxima = request.node->op == "MaxPoolGradient";
  if (of_maxima) {
    expect_shape(required(request, 1), dx.shape());
  }
  const Pool pool = pool_of("", request.attributes(), dx.shape(), dy);
  return make_kernel([pool, of_maxima](const Buffers& buffers) {
    of_maxima ? give_to_maxima(pool, buffers) : spread_averages(pool, buffers);
  });
}

}  // namespace
}  // namespace tare

TARE_KERNEL(pool_gradients) {
  using namespace tare;
  return {.ops = {"AveragePoolGradient", "MaxPoolGradient"},
          .layout = [](const KernelRequest&) { return LayoutRule::kAllChannelsLast; },
          .make = make_pool_gradient};
}
