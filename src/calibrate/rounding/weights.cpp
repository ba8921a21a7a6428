// Parameters of constants. A weight is its own sample, so each channel or block gets statistics
// of its values and a range from its calibrator. Scales are then widened where an engine needs
// it: for kernels of x86 processors without VNNI, which add two products in int16
// (docs/decisions/0009-neighbouring-weights-stay-within-128.md), and for biases that would not
// fit int32 at the scale of their accumulator. Widening costs the other weights of the channel
// resolution, and nothing else.
//
// Cost: a histogram for each channel. The limit for pairs looks at pairs near the limit only,
// once for each half per cent that the scale grows.
#include "calibrate/rounding/weights.h"

#include "tare/error.h"
#include "tare/simulate.h"

#include "base/large_memory.h"
#include "graph/arithmetic/per_axis.h"
#include "graph/arithmetic/power_of_two.h"
#include "graph/operators/product.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <sstream>

namespace tare {
namespace {

/// The values of channels in kernel order.
class ChannelReader {
 public:
  ChannelReader(const Tensor& weights, const KernelOrder& order)
      : values_(weights.view<float>()),
        shape_(weights.shape()),
        convolution_(order.convolution),
        axis_(order.output_axis),
        channels_(static_cast<std::size_t>(shape_.at(axis_))) {
    if (order.convolution) {
      // [O, I, kernel...] is read as kernel position, then I.
      inner_ = static_cast<std::size_t>(shape_[1]);
      outer_ = values_.size() / channels_ / inner_;
      channel_stride_ = inner_ * outer_;
      inner_stride_ = outer_;
      outer_stride_ = 1;
    } else {
      // A matrix with outputs along the axis; leading axes are batches of such matrices.
      const std::size_t rank = shape_.size();
      const bool outputs_last = axis_ == rank - 1;
      inner_ = static_cast<std::size_t>(shape_[outputs_last ? rank - 2 : rank - 1]);
      outer_ = values_.size() / channels_ / inner_;
      channel_stride_ = outputs_last ? 1 : inner_;
      inner_stride_ = outputs_last ? channels_ : 1;
      outer_stride_ = channels_ * inner_;
    }
  }

  std::size_t channels() const { return channels_; }

  std::size_t size() const { return inner_ * outer_; }
  /// Where the n-th weight of a channel is in the constant.
  std::size_t place(std::size_t channel, std::size_t n) const {
    return channel * channel_stride_ + n / inner_ * outer_stride_ + n % inner_ * inner_stride_;
  }

  /// Calls f(channel, its weights) for each channel in turn.
  template <class F>
  void for_each_channel(F&& f) const {
    // Columns of a matrix are read faster together.
    const LargeArray<float> copy(convolution_ ? size() : values_.size());
    const std::span<float> weights = copy.span();
    if (!convolution_) {
      copy_channel_by_channel(values_, shape_, static_cast<int>(axis_), weights);
    }
    for (std::size_t channel = 0; channel < channels_; ++channel) {
      if (convolution_) {
        auto to = weights.begin();
        for (std::size_t outer = 0; outer < outer_; ++outer) {
          const std::size_t first = channel * channel_stride_ + outer * outer_stride_;
          for (std::size_t inner = 0; inner < inner_; ++inner) {
            *to++ = values_[first + inner * inner_stride_];
          }
        }
      }
      f(channel, weights.subspan(convolution_ ? 0 : channel * size(), size()));
    }
  }

 private:
  std::span<const float> values_;
  Shape shape_;
  bool convolution_;
  std::size_t axis_;
  std::size_t channels_;
  std::size_t inner_ = 1;
  std::size_t outer_ = 1;
  std::size_t channel_stride_ = 1;
  std::size_t inner_stride_ = 1;
  std::size_t outer_stride_ = 1;
};

using Pair = std::array<float, 2>;

/// Neighbours whose sum lies that far from 0.
std::vector<Pair> pairs_above(float least, std::span<const float> values) {
  std::vector<Pair> result;
  for (std::size_t i = 0; i + 1 < values.size(); i += 2) {
    if (std::abs(values[i] + values[i + 1]) > least) {
      result.push_back({values[i], values[i + 1]});
    }
  }
  return result;
}

}  // namespace

void require_range(const Range& range, const std::string& calibrator,
                   const std::string& point) {
  if (!std::isfinite(range.low) || !std::isfinite(range.high) || range.low > range.high) {
    std::ostringstream text;
    text << '[' << range.low << ", " << range.high << ']';
    throw Error(ErrorCode::kInvalidConfig, "calibrator '" + calibrator + "'",
                "gives '" + point + "' the range " + text.str())
        .expected("two finite numbers, the lower one first");
  }
}

CalibrationPoint calibration_point(const SimulatedGraph& simulated, const QuantPoint& point) {
  const auto node =
      point.role == Role::kWeight ? point.reader : simulated.source.producer(point.value);
  return {.name = point.name,
          .node = node ? std::string_view(simulated.source.node(*node).name) : "",
          .op = node ? std::string_view(simulated.source.node(*node).op) : "",
          .is_weight = point.role == Role::kWeight,
          .target = simulated.target};
}

namespace {

Range range_of_weights(const CalibratorAnswer& answer, const QuantPoint& point) {
  if (const Range* range = std::get_if<Range>(&answer)) {
    return *range;
  }
  throw Error(ErrorCode::kInvalidConfig, "calibrator '" + point.calibrator.name + "'",
              "gives the weight '" + point.name + "' parameters")
      .expected("a range");
}

}  // namespace

Range cover(std::span<const Range> ranges) {
  Range result = ranges.front();
  for (const Range& range : ranges) {
    result.low = std::min(result.low, range.low);
    result.high = std::max(result.high, range.high);
  }
  return result;
}

namespace {

/// The values that share each scale: of a channel, or of a block of one.
class ValuesOfParameters {
 public:
  ValuesOfParameters(const Tensor& values, std::optional<int> axis, int block)
      : count_(static_cast<std::size_t>(
            element_count(parameter_shape(values.shape(), axis, block)))) {
    const auto data = values.view<float>();
    if (block == 0 || !axis) {
      together_ = data;
      const Shape before(values.shape().begin(), values.shape().begin() + axis.value_or(0));
      if (element_count(before) != 1) {
        copy_ = LargeArray<float>(data.size());
        copy_channel_by_channel(data, values.shape(), axis, copy_.span());
        together_ = copy_.span();
      }
      return;
    }
    blocks_.resize(count_);
    for_each_slice(values.shape(), axis, block,
                   [&](std::size_t place, std::size_t first, std::size_t count) {
                     const auto slice = data.subspan(first, count);
                     blocks_[place].insert(blocks_[place].end(), slice.begin(), slice.end());
                   });
  }

  std::size_t count() const { return count_; }
  std::span<const float> operator[](std::size_t i) const {
    if (!blocks_.empty()) {
      return blocks_[i];
    }
    const std::size_t size = together_.size() / count_;
    return together_.subspan(i * size, size);
  }

 private:
  std::size_t count_;
  std::span<const float> together_;         ///< channel by channel
  LargeArray<float> copy_;                  ///< where they do not lie so
  std::vector<std::vector<float>> blocks_;  ///< of unlike sizes
};

}  // namespace

PointResult choose_constant(const SimulatedGraph& simulated, const Tensor& values,
                            const QuantPoint& point, const Calibrator& calibrator,
                            bool needs_histogram) {
  const bool per_axis = point.spec.granularity == Granularity::kPerAxis;
  const auto axis = per_axis ? std::optional(point.spec.axis) : std::nullopt;
  const int block = point.spec.block;
  const ValuesOfParameters channels(values, axis, block);
  PointResult result;
  result.calibrator = point.calibrator.name;
  const CalibrationPoint about = calibration_point(simulated, point);
  std::vector<Range> observed;
  std::vector<Range> calibrated;
  for (std::size_t i = 0; i < channels.count(); ++i) {
    const std::span<const float> channel = channels[i];
    auto statistics =
        needs_histogram ? TensorStatistics() : TensorStatistics::without_histogram();
    statistics.observe(channel);
    observed.push_back({statistics.low(), statistics.high()});
    if (const auto observer = calibrator.observer()) {
      observer->observe(channel);
      calibrated.push_back(
          range_of_weights(observer->answer(statistics, point.spec, about), point));
    } else {
      calibrated.push_back(
          range_of_weights(calibrator.answer(statistics, point.spec, about), point));
    }
    require_range(calibrated.back(), result.calibrator, point.name);
    result.elements += statistics.count();
  }
  result.params = to_quant_params(calibrated, point.spec);
  // Those of all blocks would take as much memory as the integers.
  result.observed = block == 0 ? std::move(observed) : std::vector{cover(observed)};
  result.calibrated = block == 0 ? std::move(calibrated) : std::vector{cover(calibrated)};
  return result;
}

int pair_limit(const SimulatedGraph& simulated, NodeId reader) {
  for (const QuantPoint& point : simulated.points) {
    if (point.role == Role::kAccumulator && point.reader == reader &&
        size_of(simulated.find(point.input)->spec.storage) > 1) {
      return 0;
    }
  }
  return simulated.target.weight_pair_limit;
}

std::optional<KernelOrder> kernel_order(const Graph& graph, const Node& node) {
  const Shape& weights = graph.type(node.inputs[1]).shape;
  if (node.op == "Conv") {
    const bool depthwise = weights[1] == 1 && node.attributes.integer("group", 1) == weights[0];
    return depthwise ? std::nullopt : std::optional(KernelOrder{true, 0});
  }
  if (node.op == "ConvTranspose") {
    return std::nullopt;
  }
  const bool transposed = node.op == "Gemm" && weight_layout(node, 2).output == 0;
  return KernelOrder{false, transposed ? 0 : weights.size() - 1};
}

std::vector<std::array<std::size_t, 2>> kernel_pairs(const Tensor& weights,
                                                     const KernelOrder& order) {
  const ChannelReader reader(weights, order);
  std::vector<std::array<std::size_t, 2>> pairs;
  for (std::size_t channel = 0; channel < reader.channels(); ++channel) {
    for (std::size_t n = 0; n + 1 < reader.size(); n += 2) {
      pairs.push_back({reader.place(channel, n), reader.place(channel, n + 1)});
    }
  }
  return pairs;
}

std::vector<int> limit_pairs(const Tensor& weights, const KernelOrder& order, int limit,
                             const QuantSpec& spec, QuantParams& params) {
  if (params.storage != DType::kInt8 || params.zero_point[0] != 0) {
    return {};
  }
  // Half a per cent is no loss, and few steps: most channels end at 1.1 to 1.6 (decision 9).
  const float step = spec.power_of_two ? 2 : 1.005F;
  // Half a step each, and what the division rounds off. Saturation only brings sums closer to
  // 0.
  constexpr float kRounding = 1.01F;
  const ChannelReader reader(weights, order);
  const auto low = static_cast<float>(params.range().low);
  const auto high = static_cast<float>(params.range().high);
  const auto bound = static_cast<float>(limit);
  const auto exceeds = [&](const Pair& pair, float scale) {
    const auto storage = [&](float w) {
      return std::clamp(std::nearbyint(w / scale), low, high);
    };
    return std::abs(storage(pair[0]) + storage(pair[1])) > bound;
  };
  const std::span<float> scales = params.scale.mutable_view();
  std::vector<int> widened;
  reader.for_each_channel([&](std::size_t channel, std::span<const float> own) {
    float& scale = scales[params.per_axis() ? channel : 0];
    const float before = scale;
    const auto pairs = pairs_above((bound - kRounding) * scale, own);
    while (std::any_of(pairs.begin(), pairs.end(),
                       [&](const Pair& pair) { return exceeds(pair, scale); })) {
      scale *= step;
    }
    if (scale != before) {
      widened.push_back(static_cast<int>(channel));
    }
  });
  return widened;
}

std::vector<int> fit_bias(const Tensor& bias, float input_scale, const QuantSpec& spec,
                          QuantParams& weight) {
  // One step of room for the rounding of the bias itself.
  constexpr double kLargest = std::numeric_limits<std::int32_t>::max() - 1.0;
  std::vector<int> widened;
  const auto values = bias.view<float>();
  for (std::size_t channel = 0; channel < values.size(); ++channel) {
    const std::size_t place = weight.per_axis() ? channel : 0;
    const float scale = weight.scale[place];
    const double needed = std::abs(static_cast<double>(values[channel])) / kLargest /
                          static_cast<double>(input_scale);
    if (static_cast<double>(scale) < needed) {
      weight.scale.mutable_view()[place] =
          spec.power_of_two ? static_cast<float>(power_of_two_from(needed))
                            : std::nextafter(static_cast<float>(needed),
                                             std::numeric_limits<float>::infinity());
      widened.push_back(static_cast<int>(channel));
    }
  }
  return widened;
}

}  // namespace tare
