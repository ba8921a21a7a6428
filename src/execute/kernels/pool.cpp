// MaxPool, AveragePool, LpPool and their global forms, channels last: a window is a sum or
// maximum over rows of channels, which are vector code whatever the window. Where windows end
// at an edge is found once for each position along each axis. Additions: results times the size
// of the window.
//
// Averages with a tie-breaking point are those of TensorFlow Lite, in integers
// (docs/decisions/0020-averages-have-a-tie-breaking-point.md).
#include "tare/error.h"

#include "execute/elements/dispatch.h"
#include "execute/elements/window.h"
#include "execute/operands.h"
#include "graph/arithmetic/node_arithmetic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tare {
namespace {

/// The taps of one window along one axis that lie inside of the input.
struct Taps {
  std::int64_t begin = 0;  ///< first input index
  std::int64_t count = 0;
  std::int64_t padded = 0;  ///< taps inside of the input with its padding
};

/// One spatial axis; missing ones in front have extent 1.
struct Axis {
  std::int64_t input = 1;
  std::int64_t dilation = 1;
  std::vector<Taps> taps{{0, 1, 1}};  ///< per output index

  std::int64_t output() const { return static_cast<std::int64_t>(taps.size()); }
};

struct Pool {
  std::int64_t batch = 0;
  std::int64_t channels = 0;
  std::array<Axis, 3> axes;
  bool include_pad = false;
  bool column_major = false;  ///< how MaxPool counts the places of its maxima
};

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return a <= 0 ? 0 : (a + b - 1) / b;
}

Axis make_axis(const Window& window, std::size_t i) {
  Axis axis{window.input[i], window.dilations[i], {}};
  const std::int64_t kernel = window.kernel[i];
  for (std::int64_t o = 0; o < window.output[i]; ++o) {
    const std::int64_t start = o * window.strides[i] - window.pads_begin[i];
    const std::int64_t first = std::min(kernel, ceil_divide(-start, axis.dilation));
    const auto taps_before = [&](std::int64_t end) {
      return std::min(kernel, ceil_divide(end - start, axis.dilation));
    };
    axis.taps.push_back({start + first * axis.dilation,
                         std::max<std::int64_t>(0, taps_before(axis.input) - first),
                         taps_before(axis.input + window.pads_end[i])});
  }
  return axis;
}

Pool pool_of(const KernelRequest& request) {
  const Shape& input = request.inputs[0].shape();
  const bool global = request.node->op.starts_with("Global");
  const Attributes& attributes = request.attributes();
  const Window window =
      make_window(global ? Attributes() : attributes, input, request.outputs[0].shape(),
                  global ? spatial(input) : attributes.integers("kernel_shape"));
  Shape expected = request.outputs[0].shape();  // the window vouches for the spatial extents
  expected[0] = input[0];
  expected[1] = input[1];
  expect_shape(request.outputs[0], expected);
  Pool pool{.batch = input[0],
            .channels = input[1],
            .axes = {},
            .include_pad = attributes.integer("count_include_pad", 0) != 0,
            .column_major = attributes.integer("storage_order", 0) != 0};
  for (std::size_t i = 0; i < window.axes(); ++i) {
    pool.axes[i + 3 - window.axes()] = make_axis(window, i);
  }
  return pool;
}

/// Calls f(sample, output position, taps per axis) for every window, in memory order.
template <class F>
void for_each_window(const Pool& pool, F&& f) {
  std::int64_t position = 0;
  for (std::int64_t n = 0; n < pool.batch; ++n) {
    for (const Taps& d : pool.axes[0].taps) {
      for (const Taps& h : pool.axes[1].taps) {
        for (const Taps& w : pool.axes[2].taps) {
          f(n, position++, std::array{d, h, w});
        }
      }
    }
  }
}

/// Calls f(input position within the sample) for every tap of a window, in memory order.
template <class F>
void for_each_tap(const Pool& pool, const std::array<Taps, 3>& taps, F&& f) {
  const auto& [d_axis, h_axis, w_axis] = pool.axes;
  for (std::int64_t d = 0; d < taps[0].count; ++d) {
    for (std::int64_t h = 0; h < taps[1].count; ++h) {
      const std::int64_t row = (taps[0].begin + d * d_axis.dilation) * h_axis.input +
                               taps[1].begin + h * h_axis.dilation;
      for (std::int64_t w = 0; w < taps[2].count; ++w) {
        f(row * w_axis.input + taps[2].begin + w * w_axis.dilation);
      }
    }
  }
}

std::int64_t sample_size(const Pool& pool) {
  return pool.axes[0].input * pool.axes[1].input * pool.axes[2].input * pool.channels;
}

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
    for (const Taps& axis : taps) {
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
  const Pool pool = pool_of(request);
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
