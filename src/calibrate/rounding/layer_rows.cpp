// Samples the rows that a layer multiplies its weights with, for the Hessian of GPTQ. For a
// convolution these are the windows around its positions, as im2col would list them; listing
// all of them would take as many bytes as the activation times the kernel's size for every
// sample.
//
// Every run gives an equal share, evenly spaced over its positions. Each run starts elsewhere:
// its offset, as a share of the space between two rows, grows by the golden ratio modulo 1, so
// that any number of runs covers the positions evenly instead of looking at the same pixels
// over and over.
//
// Memory: at most 32 MiB for a layer (unless a single row is larger). Time: one copy of each
// row.
#include "calibrate/rounding/layer_rows.h"

#include "tare/graph.h"

#include "base/check.h"
#include "graph/operators/product.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

namespace tare {
namespace {

/// Enough rows that their second moments are known well, within some memory: with fewer than
/// columns H has not even full rank, and each more costs GPTQ time. The bound in bytes is for
/// one layer, and all layers of a level hold their rows at once.
std::size_t wanted_rows(const LayerMatrix& matrix) {
  constexpr std::size_t kLeast = 1024;
  constexpr std::size_t kPerColumn = 4;
  constexpr std::size_t kBytes = std::size_t{32} << 20;
  const std::size_t fitting = kBytes / (matrix.groups * matrix.columns * sizeof(float));
  return std::min(std::max(kLeast, kPerColumn * matrix.columns),
                  std::max<std::size_t>(fitting, 1));
}

/// Distances between neighbours along each axis, in elements.
std::vector<std::size_t> strides(const TensorView& view) {
  const Shape& shape = view.type->shape;
  std::vector<std::size_t> axes(shape.size());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  if (view.channels_last) {
    std::rotate(axes.begin() + 1, axes.begin() + 2, axes.end());
  }
  std::vector<std::size_t> result(shape.size());
  std::size_t stride = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    result[*axis] = stride;
    stride *= static_cast<std::size_t>(shape[*axis]);
  }
  return result;
}

}  // namespace

std::optional<LayerMatrix> layer_matrix(const Graph& graph, const Node& node) {
  const Tensor* weights = node.inputs.size() < 2 ? nullptr : graph.constant(node.inputs[1]);
  if (weights == nullptr) {
    return std::nullopt;
  }
  const Shape& shape = weights->shape();
  const auto elements = static_cast<std::size_t>(weights->size());
  LayerMatrix result;
  if (node.op == "Conv") {
    result.groups = static_cast<std::size_t>(node.attributes.integer("group", 1));
    result.outputs = static_cast<std::size_t>(shape[0]) / result.groups;
    result.columns = elements / static_cast<std::size_t>(shape[0]);
    result.output_stride = result.columns;
    return result;
  }
  if ((node.op != "Gemm" && node.op != "MatMul") || shape.size() != 2) {
    return std::nullopt;
  }
  const bool transposed = weight_layout(node, 2).output == 0;
  result.outputs = static_cast<std::size_t>(shape[transposed ? 0 : 1]);
  result.columns = elements / result.outputs;
  result.output_stride = transposed ? result.columns : 1;
  result.column_stride = transposed ? 1 : result.outputs;
  return result;
}

LayerRows::LayerRows(const Graph& graph, const Node& node, std::size_t runs)
    : matrix_(*layer_matrix(graph, node)), runs_(runs) {
  const Shape& input = graph.type(node.inputs[0]).shape;
  const Shape& output = graph.type(node.outputs[0]).shape;
  const Shape& weights = graph.type(node.inputs[1]).shape;
  if (node.op == "Conv") {
    window_ = make_window(node.attributes, input, output, spatial(weights));
  }
  const std::size_t positions =
      static_cast<std::size_t>(element_count(output)) / (matrix_.groups * matrix_.outputs);
  rows_ = std::min(runs_ * positions, wanted_rows(matrix_));
  values_ = LargeArray<float>(matrix_.groups * rows_ * matrix_.columns);
}

void LayerRows::observe(std::size_t run, const TensorView& input) {
  const std::size_t first = first_row(run);
  const std::size_t count = first_row(run + 1) - first;
  // Positions of consecutive runs are shifted against each other by the golden ratio: 40503 is
  // 2^16 times its fraction.
  constexpr std::size_t kFractions = 1U << 16U;
  const std::size_t shift = run * 40503U % kFractions;
  const Shape& shape = input.type->shape;
  const std::optional<Window> window =
      window_ ? std::optional(window_over(shape)) : std::nullopt;
  const auto positions = static_cast<std::size_t>(
      window ? shape[0] * element_count(window->output)
             : element_count(shape) / static_cast<std::int64_t>(matrix_.columns));
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t position = (i * kFractions + shift) * positions / (count * kFractions);
    if (window) {
      copy_window(input, *window, position, first + i);
    } else {
      copy_line(input, position, first + i);
    }
  }
}

std::size_t LayerRows::bytes_of(std::size_t first, std::size_t end,
                                const std::optional<ByteSteps>& steps) const {
  return matrix_.groups * (first_row(end) - first_row(first)) * matrix_.columns *
         (steps ? 1 : sizeof(float));
}

void LayerRows::write_rows_of(std::size_t first, std::size_t end,
                              const std::optional<ByteSteps>& steps,
                              std::span<std::byte> to) const {
  const std::size_t count = (first_row(end) - first_row(first)) * matrix_.columns;
  const std::size_t bytes = to.size() / matrix_.groups;
  for (std::size_t group = 0; group < matrix_.groups && bytes > 0; ++group) {
    const auto own = values(group).subspan(first_row(first) * matrix_.columns, count);
    std::byte* const at = &to[group * bytes];
    if (steps) {
      std::transform(own.begin(), own.end(), at, [by = *steps](float value) {
        return static_cast<std::byte>(static_cast<std::int32_t>(by.of(value) - by.lowest()));
      });
    } else {
      std::memcpy(at, own.data(), bytes);
    }
  }
}

void LayerRows::read_rows_of(std::size_t first, std::size_t end,
                             const std::optional<ByteSteps>& steps,
                             std::span<const std::byte> from) {
  check(from.size() == bytes_of(first, end, steps), "rows of other runs");
  const std::size_t bytes = from.size() / matrix_.groups;
  for (std::size_t group = 0; group < matrix_.groups && bytes > 0; ++group) {
    const auto own = from.subspan(group * bytes, bytes);
    float* const to = row(group, first_row(first));
    if (steps) {
      std::transform(own.begin(), own.end(), to, [by = *steps](std::byte byte) {
        return by.value(by.lowest() + static_cast<float>(std::to_integer<int>(byte)));
      });
    } else {
      std::memcpy(to, own.data(), bytes);
    }
  }
}

std::span<const float> LayerRows::values(std::size_t group) const {
  const std::size_t size = rows_ * matrix_.columns;
  return values_.span().subspan(group * size, size);
}

float* LayerRows::row(std::size_t group, std::size_t index) {
  return values_.span().data() + (group * rows_ + index) * matrix_.columns;
}

void LayerRows::copy_line(const TensorView& input, std::size_t position, std::size_t to) {
  const Shape& shape = input.type->shape;
  const std::vector<std::size_t> stride = strides(input);
  std::size_t at = 0;
  for (std::size_t axis = shape.size() - 1; axis-- > 0;) {
    const auto extent = static_cast<std::size_t>(shape[axis]);
    at += position % extent * stride[axis];
    position /= extent;
  }
  const auto elements = input.elements<float>();
  float* const line = row(0, to);
  for (std::size_t i = 0; i < matrix_.columns; ++i) {
    line[i] = elements[at + i * stride.back()];
  }
}

Window LayerRows::window_over(const Shape& input) const {
  Window window = *window_;
  window.input = spatial(input);
  for (std::size_t axis = 0; axis < window.axes(); ++axis) {
    if (window.input[axis] != window_->input[axis]) {
      const std::int64_t room = window.input[axis] + window.pads_begin[axis] +
                                window.pads_end[axis] - window.reach(axis);
      window.output[axis] = room / window.strides[axis] + 1;
    }
  }
  return window;
}

void LayerRows::copy_window(const TensorView& input, const Window& window, std::size_t position,
                            std::size_t to) {
  const std::vector<std::size_t> stride = strides(input);
  const auto elements = input.elements<float>();
  std::vector<std::int64_t> corner(window.axes());
  for (std::size_t axis = window.axes(); axis-- > 0;) {
    const auto extent = static_cast<std::size_t>(window.output[axis]);
    corner[axis] = static_cast<std::int64_t>(position % extent) * window.strides[axis] -
                   window.pads_begin[axis];
    position /= extent;
  }
  const auto channels = static_cast<std::size_t>(input.type->shape[1]);
  const std::size_t in_group = channels / matrix_.groups;
  const std::size_t taps = matrix_.columns / in_group;
  // Where the first channel of each tap is; null in the padding.
  std::vector<const float*> taps_at(taps);
  for (std::size_t tap = 0; tap < taps; ++tap) {
    std::size_t at = position * stride[0];
    bool inside = true;
    for (std::size_t axis = window.axes(), rest = tap; axis-- > 0;) {
      const auto extent = static_cast<std::size_t>(window.kernel[axis]);
      const std::int64_t index =
          corner[axis] + static_cast<std::int64_t>(rest % extent) * window.dilations[axis];
      rest /= extent;
      inside = inside && index >= 0 && index < window.input[axis];
      at += static_cast<std::size_t>(index) * stride[axis + 2];
    }
    taps_at[tap] = inside ? elements.data() + at : nullptr;
  }
  for (std::size_t group = 0; group < matrix_.groups; ++group) {
    float* line = row(group, to);
    for (std::size_t c = group * in_group; c < (group + 1) * in_group; ++c) {
      for (const float* at : taps_at) {
        *line++ = at == nullptr ? 0.0F : at[c * stride[1]];
      }
    }
  }
}

}  // namespace tare
