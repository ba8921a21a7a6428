#pragma once

#include "tare/simulate.h"

#include "calibrate/plain_gptq.h"
#include "calibrate/plain_layer.h"
#include "calibrate/plain_params.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tare::test {

inline bool is_held_out(std::size_t sample) {
  return sample % 4 == 3;
}

/// One layer whose factors are decided: what it multiplies, and what its weights became.
class DecidedLayer {
 public:
  /// `inputs`: what it reads in each sample. All have to outlive it.
  DecidedLayer(const SimulatedGraph& simulated, const QuantTable& table,
               const QuantPoint& accumulator, const std::vector<Tensor>& inputs)
      : point_(accumulator),
        layer_(simulated.source, simulated.source.node(*accumulator.reader)),
        exact_(
            *simulated.source.constant(simulated.source.node(*accumulator.reader).inputs[1])),
        input_(table.at(accumulator.input).params),
        weight_(table.at(accumulator.weight)),
        inputs_(inputs) {}

  /// For each output and column: the weight in steps, and its nearest integer.
  std::vector<float> weights_in_steps() const {
    std::vector<float> result;
    for_each_weight([&](std::size_t output, std::size_t at) {
      result.push_back(exact_.view<float>()[at] / scale(output));
    });
    return result;
  }
  std::vector<float> integers() const {
    std::vector<float> result;
    for_each_weight([&](std::size_t output, std::size_t at) {
      const double nearest =
          plain_storage_value(exact_.view<float>()[at], scale(output), 0, -127, 127);
      result.push_back(
          static_cast<float>(nearest + (weight_.rounding.empty() ? 0 : weight_.rounding[at])));
    });
    return result;
  }

  /// Of each output: its largest weight takes the last step, unless neighbours would add up to
  /// more than 128; then half a per cent more, or twice as much, until they do not.
  std::vector<float> expected_scales(bool power_of_two) const {
    const std::vector<std::size_t> neighbours = layer_.neighbours();
    std::vector<float> result;
    for (std::size_t output = 0; output < layer_.outputs(); ++output) {
      const auto weight = [&](std::size_t column) {
        return exact_.view<float>()[layer_.at(output, column)];
      };
      double largest = 0;
      for (std::size_t column = 0; column < layer_.columns(); ++column) {
        largest = std::max(largest, std::abs(static_cast<double>(weight(column))));
      }
      auto scale = static_cast<float>(
          power_of_two ? std::exp2(std::ceil(std::log2(largest / 127))) : largest / 127);
      const auto exceeds = [&](std::size_t column) {
        return neighbours[column] != column &&
               std::abs(plain_storage_value(weight(column), scale, 0, -127, 127) +
                        plain_storage_value(weight(neighbours[column]), scale, 0, -127, 127)) >
                   128;
      };
      for (std::size_t column = 0; column < layer_.columns();) {
        if (exceeds(column)) {
          scale *= power_of_two ? 2 : 1.005F;
          column = 0;
        } else {
          ++column;
        }
      }
      result.push_back(scale);
    }
    return result;
  }

  /// The layer's input in storage steps from the zero point.
  RoundingTask task(std::vector<float>& rows) const {
    RoundingTask task;
    for (std::size_t sample = 0; sample < inputs_.size(); ++sample) {
      for (const float x : layer_.rows(inputs_[sample])) {
        rows.push_back(static_cast<float>(
            plain_storage_value(x, input_.scale[0], input_.zero_point[0], 0, 255) -
            input_.zero_point[0]));
      }
      task.holdout.resize(rows.size() / layer_.columns(), is_held_out(sample));
    }
    task.columns = layer_.columns();
    task.rows = rows;
    task.centred = point_.corrects_bias;
    task.low = -127;
    task.high = 127;
    task.partner = layer_.neighbours();
    task.pair_limit = 128;
    return task;
  }

  /// What rounding takes off the mean of each output on some samples.
  std::vector<double> lost_means(bool only_held_out) const {
    const std::vector<float> mean_rows = layer_.rows(mean_input(only_held_out));
    const std::vector<float> rounded = integers();
    const std::size_t positions = mean_rows.size() / layer_.columns();
    std::vector<double> result(layer_.outputs());
    for (std::size_t output = 0; output < result.size(); ++output) {
      for (std::size_t i = 0; i < mean_rows.size(); ++i) {
        const std::size_t column = i % layer_.columns();
        const double lost =
            static_cast<double>(exact_.view<float>()[layer_.at(output, column)]) -
            static_cast<double>(scale(output)) *
                static_cast<double>(rounded[output * layer_.columns() + column]);
        result[output] += lost * static_cast<double>(mean_rows[i]);
      }
      result[output] /= static_cast<double>(positions);
    }
    return result;
  }

  std::size_t outputs() const { return layer_.outputs(); }

 private:
  float scale(std::size_t output) const {
    return weight_.params.scale[weight_.params.axis ? output : 0];
  }
  template <class F>
  void for_each_weight(F f) const {
    for (std::size_t output = 0; output < layer_.outputs(); ++output) {
      for (std::size_t column = 0; column < layer_.columns(); ++column) {
        f(output, layer_.at(output, column));
      }
    }
  }
  /// Each channel's mean over positions and samples, at every position.
  Tensor mean_input(bool only_held_out) const {
    const Shape& shape = inputs_[0].shape();
    const auto channels = static_cast<std::size_t>(shape.at(1));
    const std::size_t each = inputs_[0].view<float>().size() / channels;
    std::vector<double> sums(channels);
    double count = 0;
    for (std::size_t sample = 0; sample < inputs_.size(); ++sample) {
      if (only_held_out && !is_held_out(sample)) {
        continue;
      }
      for (std::size_t i = 0; i < each * channels; ++i) {
        sums[i / each] += static_cast<double>(inputs_[sample].view<float>()[i]);
      }
      count += static_cast<double>(each);
    }
    Tensor result(DType::kFloat32, shape);
    for (std::size_t i = 0; i < each * channels; ++i) {
      result.mutable_view<float>()[i] = static_cast<float>(sums[i / each] / count);
    }
    return result;
  }

  const QuantPoint& point_;
  PlainLayer layer_;
  const Tensor& exact_;
  const QuantParams& input_;
  const PointResult& weight_;
  const std::vector<Tensor>& inputs_;
};

}  // namespace tare::test
