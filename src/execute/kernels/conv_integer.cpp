#include "tare/error.h"

#include "execute/dispatch.h"
#include "execute/integer_operand.h"
#include "execute/operands.h"
#include "execute/window.h"

#include <algorithm>

namespace tare {
namespace {

/// Neighbouring results along the last axis that one element of the kernel contributes to.
struct Run {
  std::size_t tap;
  std::int64_t to;
  std::int64_t from;
  std::int64_t count;
};

struct Geometry {
  std::size_t batch, groups, inputs, outputs;  ///< channels of one group
  std::size_t taps, input_area, output_area;
  std::int64_t step;  ///< between the inputs of neighbouring results
  std::vector<Run> runs;
};

/// The results o with 0 <= o * stride + shift < input.
std::pair<std::int64_t, std::int64_t> valid_range(const Window& w, std::size_t axis,
                                                  std::int64_t shift) {
  const std::int64_t stride = w.strides[axis];
  const std::int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  const std::int64_t room = w.input[axis] - shift;
  const std::int64_t last = room <= 0 ? 0 : (room - 1) / stride + 1;
  return {first, std::min(last, w.output[axis])};
}

/// Appends the runs of one tap, axis by axis.
void add_runs(const Window& w, const std::vector<std::int64_t>& shift, std::size_t axis,
              Run run, std::vector<Run>& runs) {
  const auto [first, last] = valid_range(w, axis, shift[axis]);
  run.to *= w.output[axis];
  run.from *= w.input[axis];
  if (axis + 1 == w.axes()) {
    if (first < last) {
      runs.push_back({run.tap, run.to + first, run.from + first * w.strides[axis] + shift[axis],
                      last - first});
    }
    return;
  }
  for (std::int64_t o = first; o < last; ++o) {
    Run deeper = run;
    deeper.to += o;
    deeper.from += o * w.strides[axis] + shift[axis];
    add_runs(w, shift, axis + 1, deeper, runs);
  }
}

std::vector<Run> make_runs(const Window& w, std::size_t taps) {
  std::vector<Run> runs;
  for (std::size_t tap = 0; tap < taps; ++tap) {
    std::vector<std::int64_t> shift(w.axes());
    auto rest = static_cast<std::int64_t>(tap);
    for (std::size_t axis = w.axes(); axis-- > 0;) {
      shift[axis] = rest % w.kernel[axis] * w.dilations[axis] - w.pads_begin[axis];
      rest /= w.kernel[axis];
    }
    add_runs(w, shift, 0, {tap, 0, 0, 0}, runs);
  }
  return runs;
}

Geometry make_geometry(const KernelRequest& request, const Operand& x, const Operand& weight) {
  const Shape& in = x.shape();
  const Shape& w = weight.shape();
  const Shape& out = request.outputs[0].shape();
  const std::int64_t groups = request.attributes().integer("group", 1);
  if (in.size() < 3 || w.size() != in.size() || out.size() != in.size() || groups < 1 ||
      w[0] % groups != 0 || w[1] * groups != in[1] || out[0] != in[0] || out[1] != w[0]) {
    throw Error(ErrorCode::kInvalidModel, "",
                "weight " + to_string(w) + " does not fit " + to_string(in));
  }
  const Window window = make_window(request.attributes(), in, out, spatial(w));
  Geometry g{};
  g.batch = static_cast<std::size_t>(in[0]);
  g.groups = static_cast<std::size_t>(groups);
  g.inputs = static_cast<std::size_t>(w[1]);
  g.outputs = static_cast<std::size_t>(w[0] / groups);
  g.taps = static_cast<std::size_t>(element_count(window.kernel));
  g.input_area = static_cast<std::size_t>(element_count(window.input));
  g.output_area = static_cast<std::size_t>(element_count(window.output));
  g.step = window.strides.back();
  g.runs = make_runs(window, g.taps);
  return g;
}

/// y += x * weight, one result channel; exact as long as int32 holds the sums.
void convolve_channel(const Geometry& g, const std::int32_t* x, const std::int32_t* weight,
                      std::int32_t* y) {
  for (std::size_t c = 0; c < g.inputs; ++c, x += g.input_area, weight += g.taps) {
    for (const Run& run : g.runs) {
      const std::int32_t w = weight[run.tap];
      const std::int32_t* from = x + run.from;
      std::int32_t* to = y + run.to;
#pragma omp simd
      for (std::int64_t i = 0; i < run.count; ++i) {
        to[i] += w * from[i * g.step];
      }
    }
  }
}

void convolve(const Geometry& g, const std::int32_t* x, const std::int32_t* weight,
              std::int32_t* y) {
  for (std::size_t n = 0; n < g.batch; ++n) {
    for (std::size_t k = 0; k < g.groups * g.outputs; ++k, y += g.output_area) {
      std::fill_n(y, g.output_area, 0);
      const std::size_t group = n * g.groups + k / g.outputs;
      convolve_channel(g, x + group * g.inputs * g.input_area, weight + k * g.inputs * g.taps,
                       y);
    }
  }
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  const Operand& w = required(request, 1);
  if (!Centered::takes(request, 0, 2) || !Centered::takes(request, 1, 3) ||
      request.outputs[0].dtype() != DType::kInt32) {
    return nullptr;
  }
  const Geometry geometry = make_geometry(request, request.inputs[0], w);
  const Centered x(request, 0, 2, {});
  const Centered weight(request, 1, 3,
                        {geometry.groups * geometry.outputs, geometry.inputs * geometry.taps});
  return make_kernel(
      [=](const Buffers& b) {
        auto* x_values = reinterpret_cast<std::int32_t*>(b.scratch);
        auto* weights = x_values + x.count();
        x(b, x_values);
        weight(b, weights);
        convolve(geometry, x_values, weights, output<std::int32_t>(b, 0));
      },
      (x.count() + weight.count()) * sizeof(std::int32_t));
}

}  // namespace
}  // namespace tare

TARE_KERNEL(conv_integer) {
  return {.ops = {"ConvInteger"}, .make = tare::make};
}
