// Decides accumulators, whose parameters follow from their factors: the scale of a sum of
// products is the product of both scales, its zero point 0, and biases are int32 at that scale
// (Jacob et al., "Quantization and Training of Neural Networks for Efficient
// Integer-Arithmetic-Only Inference", 2018, section 2.4).
//
// Biases are then corrected for the mean error that rounded weights leave in the results
// (Nagel, van Baalen, Blankevoort and Welling, "Data-Free Quantization Through Weight
// Equalization and Bias Correction", 2019, section 4.2). That paper derives mean inputs from
// batch norms; here they are observed, which works for any layer. As they come from few
// samples, a quarter of the runs is held out, and a correction that does not bring these closer
// is dropped.
//
// Cost of a correction: a multiplication for each weight of a convolution, and one run of other
// layers on a single sample; twice as much with a holdout. Widening a scale changes the
// weights' errors, so both are repeated until no scale has to be widened.
#include "calibrate/rounding/accumulators.h"

#include "tare/execute.h"
#include "tare/graph.h"
#include "tare/simulate.h"

#include "base/parallel.h"
#include "calibrate/rounding/layer_rows.h"
#include "calibrate/rounding/widen_scales.h"
#include "graph/arithmetic/per_axis.h"
#include "simulate/accumulated.h"
#include "simulate/quantized_constants.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <Eigen/Core>

namespace tare {
namespace {

/// A tensor of that shape that holds one value per index of axis 1.
Tensor constant_channels(const Shape& shape, const std::vector<double>& values) {
  Tensor result(DType::kFloat32, shape);
  const auto elements = result.mutable_view<float>();
  for_each_slice(shape, 1, [&](std::size_t channel, std::size_t first, std::size_t count) {
    std::fill_n(elements.begin() + static_cast<std::ptrdiff_t>(first), count,
                static_cast<float>(values[channel]));
  });
  return result;
}

std::vector<float> channel_means(const Tensor& tensor) {
  std::vector<double> sums(static_cast<std::size_t>(tensor.shape().at(1)));
  const auto values = tensor.view<float>();
  for_each_slice(tensor.shape(), 1,
                 [&](std::size_t channel, std::size_t first, std::size_t count) {
                   for (const float value : values.subspan(first, count)) {
                     sums[channel] += static_cast<double>(value);
                   }
                 });
  const double count = static_cast<double>(values.size()) / static_cast<double>(sums.size());
  std::vector<float> means;
  means.reserve(sums.size());
  for (const double sum : sums) {
    means.push_back(static_cast<float>(sum / count));
  }
  return means;
}

/// Part of the positions of a window at which each element of its kernel is not in the padding.
std::vector<double> shares_inside(const Window& window) {
  std::vector<double> result{1};
  for (std::size_t axis = 0; axis < window.axes(); ++axis) {
    const std::int64_t positions = window.output[axis];
    std::vector<double> longer;
    for (const double share : result) {
      for (std::int64_t tap = 0; tap < window.kernel[axis]; ++tap) {
        // How many positions are less than so far from the first one.
        const auto before = [&](std::int64_t distance) {
          const std::int64_t stride = window.strides[axis];
          return std::clamp<std::int64_t>(distance <= 0 ? 0 : (distance - 1) / stride + 1, 0,
                                          positions);
        };
        const std::int64_t first = window.pads_begin[axis] - tap * window.dilations[axis];
        const std::int64_t inside = before(first + window.input[axis]) - before(first);
        longer.push_back(share * static_cast<double>(inside) / static_cast<double>(positions));
      }
    }
    result = std::move(longer);
  }
  return result;
}

/// The mean result of each output channel of a convolution whose inputs have these means.
std::vector<float> mean_results(const Graph& graph, const Node& node, const LayerMatrix& matrix,
                                const std::vector<double>& input_means, const Tensor& weights) {
  const std::vector<double> shares =
      shares_inside(make_window(node.attributes, graph.type(node.inputs[0]).shape,
                                graph.type(node.outputs[0]).shape, spatial(weights.shape())));
  const auto elements = weights.view<float>();
  std::vector<float> result;
  std::size_t channel = 0;
  for (std::size_t group = 0; group < matrix.groups; ++group) {
    Eigen::VectorXd means(static_cast<Eigen::Index>(matrix.columns));
    for (std::size_t column = 0; column < matrix.columns; ++channel) {
      for (const double share : shares) {
        means[static_cast<Eigen::Index>(column++)] = share * input_means[channel];
      }
    }
    for (std::size_t output = 0; output < matrix.outputs; ++output) {
      const Eigen::Map<const Eigen::VectorXf> own(&elements[matrix.at(group, output, 0)],
                                                  means.size());
      result.push_back(static_cast<float>(own.cast<double>().dot(means)));
    }
  }
  return result;
}

/// What the rounding of its weights takes off the mean result of `node`, per output channel:
/// the node applied to the mean input and the weights' error. (Nagel et al., "Data-free
/// quantization through weight equalization and bias correction", section 4.2; means come from
/// data here, and padding counts.)
std::vector<float> lost_means(const Graph& graph, const Node& node,
                              const std::vector<double>& input_means,
                              const Tensor& lost_weights) {
  if (const auto matrix = layer_matrix(graph, node); matrix && node.op == "Conv") {
    return mean_results(graph, node, *matrix, input_means, lost_weights);
  }
  Shape input_shape = graph.type(node.inputs[0]).shape;
  TensorType result = graph.type(node.outputs[0]);
  input_shape[0] = 1;
  result.shape[0] = 1;
  const Tensor input = constant_channels(input_shape, input_means);
  const std::vector<const Tensor*> operands{&input, &lost_weights};
  return channel_means(evaluate(node, operands, {&result, 1}).front());
}

/// Weight quantization error, w - w_hat.
Tensor lost_weights(const Tensor& exact, const PointResult& weight) {
  Tensor lost = dequantize(quantized_weight(exact, weight), weight.params);
  const auto values = exact.view<float>();
  const auto rounded = lost.mutable_view<float>();
  std::transform(values.begin(), values.end(), rounded.begin(), rounded.begin(),
                 std::minus<>());
  return lost;
}

/// Whether the correction that the other runs ask for brings the means of the holdout closer,
/// over all channels: single ones differ by chance.
bool helps(std::span<const float> correction, std::span<const float> holdout, double share) {
  double without = 0;
  double with = 0;
  for (std::size_t c = 0; c < correction.size(); ++c) {
    const auto lost = static_cast<double>(holdout[c]);
    const double others = (static_cast<double>(correction[c]) - share * lost) / (1 - share);
    without += lost * lost;
    with += (lost - others) * (lost - others);
  }
  return with < without;
}

/// Empty where that does not help.
std::vector<float> bias_correction(const Graph& graph, const Node& node,
                                   const ChannelMeans& means, const PointResult& weight) {
  const Tensor lost = lost_weights(*graph.constant(node.inputs[1]), weight);
  std::vector<float> correction = lost_means(graph, node, means.all, lost);
  if (means.holdout.empty() ||
      helps(correction, lost_means(graph, node, means.holdout, lost), means.share)) {
    return correction;
  }
  return {};
}

}  // namespace

void derive_accumulators(const SimulatedGraph& simulated,
                         std::span<const QuantPoint* const> accumulators,
                         const InputMeans& means, QuantTable& table, int threads) {
  for (const QuantPoint* point : accumulators) {
    table[point->name];
  }
  // A wider weight has other errors to correct, and several accumulators may share one.
  for (bool widened = true; widened;) {
    widened = false;
    parallel_for(accumulators.size(), threads, [&](std::size_t, std::size_t i) {
      const QuantPoint& point = *accumulators[i];
      if (const auto found = means.find(point.name); found != means.end()) {
        table.at(point.name).bias_correction =
            bias_correction(simulated.source, simulated.source.node(*point.reader),
                            found->second, table.at(point.weight));
      }
    });
    for (const QuantPoint* point : accumulators) {
      widened = widen_scales_to_fit(simulated, *point, table) || widened;
    }
  }
  for (const QuantPoint* point : accumulators) {
    table.at(point->name).params =
        accumulated_params(table.at(point->input).params, table.at(point->weight).params);
  }
}

void derive_all_accumulators(const SimulatedGraph& simulated, const InputMeans& means,
                             QuantTable& table, int threads) {
  std::vector<const QuantPoint*> accumulators;
  for (const QuantPoint& point : simulated.points) {
    if (point.role == Role::kAccumulator) {
      accumulators.push_back(&point);
    }
  }
  derive_accumulators(simulated, accumulators, means, table, threads);
}

}  // namespace tare
