#pragma once

#include "execute/elements/window.h"
#include "execute/kernel.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tare {

/// A convolution or its transpose as loops over neighbouring results, for kernels that add up
/// integers. Everything is in plain layout.
struct ConvolutionRuns {
  /// Elements along the last axis that one position of the kernel connects.
  struct Run {
    std::size_t tap;
    std::int64_t to;
    std::int64_t from;
    std::int64_t count;
  };
  std::size_t batch = 0, groups = 0, inputs = 0, outputs = 0;  ///< channels of one group
  std::size_t taps = 0, input_area = 0, output_area = 0;
  /// Between the weights of neighbouring channels of one group, and between groups.
  std::size_t input_stride = 0, output_stride = 0;
  std::int64_t from_step = 1, to_step = 1;  ///< between elements of a run
  std::vector<Run> runs;                    ///< by tap; each result is in one run of a tap
};

/// Both throw Error(kInvalidModel) when operands and result do not fit together.
ConvolutionRuns convolution_runs(const Attributes&, const Shape& x, const Shape& weights,
                                 const Shape& result);
ConvolutionRuns transposed_runs(const Attributes&, const Shape& x, const Shape& weights,
                                const Shape& result);

/// y = bias, then y = add(y, weight, x) for each product, by input channel and then by tap.
/// `bias` may be null.
template <class T, class Add>
void convolve(const ConvolutionRuns& c, const T* x, const T* weights, const T* bias, T* y,
              Add add) {
  for (std::size_t n = 0; n < c.batch; ++n) {
    for (std::size_t k = 0; k < c.groups * c.outputs; ++k, y += c.output_area) {
      std::fill_n(y, c.output_area, bias != nullptr ? bias[k] : 0);
      const std::size_t group = k / c.outputs;
      const T* channel = x + (n * c.groups + group) * c.inputs * c.input_area;
      const T* kernel =
          weights + group * c.inputs * c.outputs * c.taps + k % c.outputs * c.output_stride;
      for (std::size_t i = 0; i < c.inputs; ++i) {
        for (const ConvolutionRuns::Run& run : c.runs) {
          const T w = kernel[run.tap];
          const T* from = channel + run.from;
          T* to = y + run.to;
          if (c.to_step == 1) {
#pragma omp simd
            for (std::int64_t j = 0; j < run.count; ++j) {
              to[j] = add(to[j], w, from[j * c.from_step]);
            }
          } else {
            for (std::int64_t j = 0; j < run.count; ++j) {
              to[j * c.to_step] = add(to[j * c.to_step], w, from[j]);
            }
          }
        }
        channel += c.input_area;
        kernel += c.input_stride;
      }
    }
  }
}

}  // namespace tare
