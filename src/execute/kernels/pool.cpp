// MaxPool, AveragePool, LpPool and their global forms, channels last: a window is a sum or
// maximum over rows of channels, which are vector code whatever the window. Where windows end
// at an edge is found once for each position along each axis. Additions: results times the size
// of the window.
//
// Averages with a tie-breaking point are those of TensorFlow Lite, in integers
// (docs/decisions/0020-averages-have-a-tie-breaking-point.md).
#include "tare/error.h"

#include "execute/elements/dispatch.h"
#include "execute/elements/pool_windows.h"
#include "execute/operands.h"
#include "graph/arithmetic/node_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tare {
namespace {

template <class T>
void max_pool(const Pool& pool, const Buffers& buffers) {
  const auto* x = input<T>(buffers, 0);
  auto* y = output<T>(buffers, 0);
  const std::int64_t channels = pool.channels;
  constexpr T kLowest = std::numeric_limits<T>::has_infinity
                            ? -std::numeric_limits<T>::infinity()
                            : std::numeric_limits<T>::lowest();
  for_each_window(pool, [&](std::int64_t n, std::int64_t position, const auto& taps) {
    T* out = y + position * channels;
    std::fill(out, out + channels, kLowest);
    for_each_tap(pool, taps, [&](std::int64_t tap) {
      const T* in = x + n * sample_size(pool) + tap * channels;
      for (std::int64_t c = 0; c < channels; ++c) {
        out[c] = out[c] < in[c] ? in[c] : out[c];
      }
    });
  });
}

/// Index of an element in the row-major (or column-major in each plane) order of N C spatial.
std::int64_t place_of(const Pool& pool, std::int64_t plane, std::int64_t tap) {
  const std::int64_t height = pool.axes[1].input;
  const std::int64_t width = pool.axes[2].input;
  const std::int64_t depth = pool.axes[0].input;
  if (pool.column_major) {
    const std::int64_t w = tap % width;
    const std::int64_t h = tap / width % height;
    tap = (w * height + h) * depth + tap / (width * height);
  }
  return plane * depth * height * width + tap;
}

/// The places of the maxima, plain; the first of equals.
template <class T>
void max_places(const Pool& pool, const Buffers& buffers) {
  const auto* x = input<T>(buffers, 0);
  auto* places = output<std::int64_t>(buffers, 1);
  const std::int64_t positions =
      pool.axes[0].output() * pool.axes[1].output() * pool.axes[2].output();
  for_each_window(pool, [&](std::int64_t n, std::int64_t position, const auto& taps) {
    for (std::int64_t c = 0; c < pool.channels; ++c) {
      const T* in = x + n * sample_size(pool) + c;
      std::int64_t best = -1;
      for_each_tap(pool, taps, [&](std::int64_t tap) {
        if (best < 0 || in[best * pool.channels] < in[tap * pool.channels]) {
          best = tap;
        }
      });
      const std::int64_t plane = n * pool.channels + c;
      places[plane * positions + position % positions] = place_of(pool, plane, best);
    }
  });
}

template <class T>
void average_pool(const Pool& pool, const Buffers& buffers) {
  const auto* x = input<T>(buffers, 0);
  auto* y = output<T>(buffers, 0);
  const std::int64_t channels = pool.channels;
  for_each_window(pool, [&](std::int64_t n, std::int64_t position, const auto& taps) {
    T* out = y + position * channels;
    std::fill(out, out + channels, T{0});
    std::int64_t count = 1;
    for (const PoolTaps& axis : taps) {
      count *= pool.include_pad ? axis.padded : axis.count;
    }
    for_each_tap(pool, taps, [&](std::int64_t tap) {
      const T* in = x + n * sample_size(pool) + tap * channels;
      for (std::int64_t c = 0; c < channels; ++c) {
        out[c] += in[c];
      }
    });
    for (std::int64_t c = 0; c < channels; ++c) {
      out[c] /= static_cast<T>(count);
    }
  });
}

/// y = (sum of |x|^p)^(1/p)
template <class T>
void norm_pool(const Pool& pool, std::int64_t p, const Buffers& buffers) {
  const auto* x = input<T>(buffers, 0);
  auto* y = output<T>(buffers, 0);
  const std::int64_t channels = pool.channels;
  const auto power = static_cast<T>(p);
  for_each_window(pool, [&](std::int64_t n, std::int64_t position, const auto& taps) {
    T* out = y + position * channels;
    std::fill(out, out + channels, T{0});
    for_each_tap(pool, taps, [&](std::int64_t tap) {
      const T* in = x + n * sample_size(pool) + tap * channels;
      for (std::int64_t c = 0; c < channels; ++c) {
        out[c] += p == 2 ? in[c] * in[c] : std::pow(std::abs(in[c]), power);
      }
    });
    std::transform(out, out + channels, out,
                   [&](T sum) { return p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / power); });
  });
}

/// Sums and a division in integers: of the storage values themselves, zero points included, so
/// that it matters where they lie.
template <class T>
void average_integers(const Pool& pool, std::int32_t centre, const Buffers& buffers) {
  const auto* x = input<T>(buffers, 0);
  auto* y = output<T>(buffers, 0);
  const std::int64_t channels = pool.channels;
  std::vector<std::int32_t> sums(static_cast<std::size_t>(channels));
  for_each_window(pool, [&](std::int64_t n, std::int64_t position, const auto& taps) {
    std::fill(sums.begin(), sums.end(), 0);
    std::int32_t count = 0;
    for_each_tap(pool, taps, [&](std::int64_t tap) {
      const T* in = x + n * sample_size(pool) + tap * channels;
      std::transform(in, in + channels, sums.begin(), sums.begin(),
                     [&](T value, std::int32_t sum) { return sum + value - centre; });
      ++count;
    });
    std::transform(sums.begin(), sums.end(), y + position * channels, [&](std::int32_t sum) {
      return static_cast<T>(centre + (sum > 0 ? sum + count / 2 : sum - count / 2) / count);
    });
  });
}

std::unique_ptr<Kernel> make_integer_average(const KernelRequest& request, const Pool& pool,
                                             std::int32_t centre) {
  if (request.inputs[0].type->quant != request.outputs[0].type->quant || pool.include_pad) {
    return nullptr;
  }
  return dispatch(Types<std::int8_t, std::uint8_t>{}, request.inputs[0].dtype(),
                  [&]<class T>(Tag<T>) {
                    return make_kernel([pool, centre](const Buffers& buffers) {
                      average_integers<T>(pool, centre, buffers);
                    });
                  });
}

std::unique_ptr<Kernel> make_average(const KernelRequest& request, const Pool& pool) {
  if (const auto centre = tie_breaking_point(request.attributes())) {
    return make_integer_average(request, pool, *centre);
  }
  return dispatch(Types<float, double>{}, request.inputs[0].dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([pool](const Buffers& buffers) { average_pool<T>(pool, buffers); });
  });
}

std::unique_ptr<Kernel> make_norm(const KernelRequest& request, const Pool& pool) {
  const std::int64_t p = request.attributes().integer("p", 2);
  if (p < 1) {
    throw Error(ErrorCode::kInvalidModel, "", "attribute 'p' is " + std::to_string(p))
        .expected("1 or more");
  }
  return dispatch(Types<float, double>{}, request.inputs[0].dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([pool, p](const Buffers& buffers) { norm_pool<T>(pool, p, buffers); });
  });
}

std::unique_ptr<Kernel> make_max(const KernelRequest& request, const Pool& pool) {
  const bool with_places = request.outputs.size() > 1 && request.outputs[1];
  if (with_places) {
    expect_shape(request.outputs[1], request.outputs[0].shape());
  }
  using Ordered = Types<float, double, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t>;
  return dispatch(Ordered{}, request.inputs[0].dtype(), [&]<class T>(Tag<T>) {
    return make_kernel([pool, with_places](const Buffers& buffers) {
      max_pool<T>(pool, buffers);
      if (with_places) {
        max_places<T>(pool, buffers);
      }
    });
  });
}

std::unique_ptr<Kernel> make_pool(const KernelRequest& request) {
  const std::size_t rank = required(request, 0).shape().size();
  if (rank < 3 || rank > 5 || !uniform(request)) {
    return nullptr;
  }
  const Pool pool = pool_of(request.node->op, request.attributes(), request.inputs[0].shape(),
                            request.outputs[0]);
  const std::string& op = request.node->op;
  return op.ends_with("AveragePool") ? make_average(request, pool)
         : op.ends_with("LpPool")    ? make_norm(request, pool)
                                     : make_max(request, pool);
}

}  // namespace
}  // namespace tare

TARE_KERNEL(pool) {
  using namespace tare;
  return {.ops = {"AveragePool", "GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool", "LpPool",
                  "MaxPool"},
          .layout = [](const KernelRequest&) { return LayoutRule::kChannelsLast; },
          .make = make_pool};
}
