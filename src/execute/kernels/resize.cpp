// Resize of ONNX. Interpolation is separable: one pass along each axis, those that shrink
// first, so that later passes have less to do. Nearest neighbours are one indexed copy.
#include "tare/error.h"

#include "execute/elements/dispatch.h"
#include "execute/elements/indexed_copy.h"
#include "execute/elements/nested_loops.h"
#include "execute/elements/resample.h"
#include "execute/operands.h"

#include <algorithm>
#include <cmath>

namespace tare {
namespace {

constexpr std::size_t kRoi = 1;
constexpr std::size_t kScales = 2;
constexpr std::size_t kSizes = 3;

/// A constant operand of one or more elements; nothing when absent or empty.
std::vector<double> reals(const KernelRequest& request, std::size_t operand,
                          std::size_t count) {
  if (!request.has_input(operand) || count_of(request.inputs[operand]) == 0) {
    return {};
  }
  static_cast<void>(request.integers(operand));  // refuses what is not constant
  expect_count(request.inputs[operand], count);
  return request.inputs[operand].constant->to_double();
}

std::vector<ResampleAxis> make_axes(const KernelRequest& request, const ResampleRule& rule) {
  const Shape& from = required(request, 0).shape();
  const std::size_t rank = from.size();
  const auto roi = reals(request, kRoi, 2 * rank);
  const auto scales = reals(request, kScales, rank);
  const auto sizes = reals(request, kSizes, rank);
  if (scales.empty() == sizes.empty()) {
    throw Error(ErrorCode::kInvalidModel, "", "scales and sizes").expected("one of the two");
  }
  if (rule.coordinate == "tf_crop_and_resize" && roi.empty()) {
    throw Error(ErrorCode::kInvalidModel, "", "roi is missing");
  }
  std::vector<ResampleAxis> axes(rank);
  Shape shape(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    ResampleAxis& axis = axes[i];
    const auto extent = static_cast<double>(from[i]);
    axis.roi_start = roi.empty() ? 0 : roi[i];
    axis.roi_end = roi.empty() ? 1 : roi[i + rank];
    const double part =
        rule.coordinate == "tf_crop_and_resize" ? axis.roi_end - axis.roi_start : 1;
    axis.length = scales.empty() ? sizes[i] : extent * part * scales[i];
    shape[i] = convert<std::int64_t>(std::floor(axis.length));
    axis.input = from[i];
    axis.output = shape[i];
    axis.scale = scales.empty() ? sizes[i] / extent : scales[i];
    if (axis.input < 1 || !(axis.scale > 0)) {
      throw Error(ErrorCode::kInvalidModel, "",
                  "extent " + std::to_string(axis.input) + " is scaled by " +
                      std::to_string(axis.scale));
    }
  }
  expect_shape(request.outputs[0], shape);
  return axes;
}

/// Resampling along one axis of a dense array.
struct Pass {
  Taps taps;
  AxisView from;
  std::size_t output = 1;  ///< extent of the axis afterwards
};

void resample(const Pass& pass, const float* x, float* y) {
  const std::size_t inner = pass.from.inner;
  const std::size_t width = pass.taps.width;
  for (std::size_t o = 0; o < pass.from.outer; ++o, x += pass.from.extent * inner) {
    for (std::size_t i = 0; i < pass.output; ++i, y += inner) {
      const std::int64_t* index = pass.taps.index.data() + i * width;
      const float* weight = pass.taps.weight.data() + i * width;
      for (std::size_t k = 0; k < width; ++k) {
        const float* row = x + static_cast<std::size_t>(index[k]) * inner;
        const float w = weight[k];
#pragma omp simd
        for (std::size_t j = 0; j < inner; ++j) {
          y[j] = (k == 0 ? 0.0F : y[j]) + w * row[j];
        }
      }
    }
  }
}

/// Interpolation is separable: one pass per axis that changes, the shrinking ones first.
class Interpolation {
 public:
  Interpolation(const KernelRequest& request, const std::vector<Taps>& taps) {
    const Operand& x = request.inputs[0];
    std::vector<std::size_t> order;
    for (std::size_t axis = 0; axis < taps.size(); ++axis) {
      if (!taps[axis].identity) {
        order.push_back(axis);
      }
    }
    const Shape& from = x.shape();
    const Shape& to = request.outputs[0].shape();
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return to[a] * from[b] < to[b] * from[a];
    });
    TensorType type = *x.type;
    Operand current = x;
    current.type = &type;
    for (const std::size_t axis : order) {
      passes_.push_back(
          {taps[axis], view_axis(current, axis), static_cast<std::size_t>(to[axis])});
      type.shape[axis] = to[axis];
      largest_ = std::max(largest_, count_of(current));
    }
    input_count_ = count_of(x);
  }

  /// Two buffers between the passes.
  std::size_t scratch_bytes() const {
    return passes_.size() > 1 ? 2 * largest_ * sizeof(float) : 0;
  }

  void run(const float* x, float* y, float* scratch) const {
    if (passes_.empty()) {
      std::copy_n(x, input_count_, y);
    }
    for (std::size_t i = 0; i < passes_.size(); ++i) {
      float* target = i + 1 == passes_.size() ? y : scratch + (i % 2) * largest_;
      resample(passes_[i], x, target);
      x = target;
    }
  }

 private:
  std::vector<Pass> passes_;
  std::size_t largest_ = 0;
  std::size_t input_count_ = 0;
};

/// Sets to `value` what lies outside of the cropped operand.
class Extrapolation {
 public:
  Extrapolation(const Operand& y, const std::vector<Taps>& taps, float value) : value_(value) {
    for (std::size_t axis = 0; axis < taps.size(); ++axis) {
      const auto& outside = taps[axis].outside;
      if (std::find(outside.begin(), outside.end(), true) != outside.end()) {
        slabs_.push_back({view_axis(y, axis), outside});
      }
    }
  }

  void run(float* y) const {
    for (const auto& [view, outside] : slabs_) {
      for (std::size_t i = 0; i < view.outer * view.extent; ++i) {
        if (outside[i % view.extent]) {
          std::fill_n(y + i * view.inner, view.inner, value_);
        }
      }
    }
  }

 private:
  struct Slab {
    AxisView view;
    std::vector<bool> outside;
  };
  std::vector<Slab> slabs_;
  float value_;
};

std::unique_ptr<Kernel> make_resize(const KernelRequest& request) {
  const Operand& x = required(request, 0);
  const Operand& y = request.outputs[0];
  const ResampleRule rule = resample_rule(request);
  std::vector<Taps> taps;
  for (const ResampleAxis& axis : make_axes(request, rule)) {
    taps.push_back(make_taps(rule, axis));
  }
  if (!uniform(request, 1) || (x.dtype() != DType::kFloat32 && !rule.only_moves())) {
    return nullptr;
  }
  const Extrapolation extrapolation(y, taps,
                                    request.attributes().real("extrapolation_value", 0));
  if (rule.mode == "nearest") {
    std::vector<IndexedCopy::Map> maps;
    for (const Taps& axis : taps) {
      maps.push_back(axis.index);
    }
    return make_kernel([copy = IndexedCopy(y, x, maps), extrapolation](const Buffers& b) {
      copy(b.inputs[0], b.outputs[0], nullptr);
      extrapolation.run(output<float>(b, 0));
    });
  }
  const Interpolation interpolation(request, taps);
  return make_kernel(
      [interpolation, extrapolation](const Buffers& b) {
        interpolation.run(input<float>(b, 0), output<float>(b, 0),
                          reinterpret_cast<float*>(b.scratch));
        extrapolation.run(output<float>(b, 0));
      },
      interpolation.scratch_bytes());
}

}  // namespace
}  // namespace tare

TARE_KERNEL(resize) {
  using namespace tare;
  return {.ops = {"Resize"}, .layout = follow, .make = make_resize};
}
