#pragma once

#include "execute/kernel.h"

#include <array>
#include <string_view>
#include <vector>

namespace tare {

/// The taps of one window along one axis that lie inside of the input.
struct PoolTaps {
  std::int64_t begin = 0;  ///< first input index
  std::int64_t count = 0;
  std::int64_t padded = 0;  ///< taps inside of the input with its padding
};

/// One spatial axis; missing ones in front have extent 1.
struct PoolAxis {
  std::int64_t input = 1;
  std::int64_t dilation = 1;
  std::vector<PoolTaps> taps{{0, 1, 1}};  ///< per output index

  std::int64_t output() const { return static_cast<std::int64_t>(taps.size()); }
};

struct Pool {
  std::int64_t batch = 0;
  std::int64_t channels = 0;
  std::array<PoolAxis, 3> axes;
  bool include_pad = false;
  bool column_major = false;  ///< how MaxPool counts the places of its maxima
};

/// Of a pool of that name. Throws Error(kInvalidModel) where the result has another shape.
Pool pool_of(std::string_view op, const Attributes&, const Shape& input, const Operand& result);

/// Calls f(sample, output position, taps per axis) for every window, in memory order.
template <class F>
void for_each_window(const Pool& pool, F&& f) {
  std::int64_t position = 0;
  for (std::int64_t n = 0; n < pool.batch; ++n) {
    for (const PoolTaps& d : pool.axes[0].taps) {
      for (const PoolTaps& h : pool.axes[1].taps) {
        for (const PoolTaps& w : pool.axes[2].taps) {
          f(n, position++, std::array{d, h, w});
        }
      }
    }
  }
}

/// Calls f(input position within the sample) for every tap of a window, in memory order.
template <class F>
void for_each_tap(const Pool& pool, const std::array<PoolTaps, 3>& taps, F&& f) {
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

inline std::int64_t sample_size(const Pool& pool) {
  return pool.axes[0].input * pool.axes[1].input * pool.axes[2].input * pool.channels;
}

}  // namespace tare
