#include "calibrate/round_weights.h"

#include "base/parallel.h"
#include "calibrate/rounding.h"
#include "calibrate/weights.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tare {
namespace {

/// The rows in storage steps from the zero point, of 8 bits at most: finer storage does not
/// change how errors of the weights act.
std::vector<float> storage_steps(std::span<const float> values, const QuantParams& params) {
  const StorageRange range = params.range();
  const auto zero = static_cast<float>(params.zero_point[0]);
  const float low = static_cast<float>(range.low) - zero;
  const float high = static_cast<float>(range.high) - zero;
  const float coarser = std::max(1.0F, (high - low) / 255);
  std::vector<float> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float steps = std::clamp(std::nearbyint(values[i] / params.scale[0]), low, high);
    result[i] = std::nearbyint(steps / coarser);
  }
  return result;
}

/// For each column the one whose product an integer kernel adds first.
std::vector<std::size_t> partners(const LayerMatrix& matrix, const Shape& weights,
                                  const KernelOrder& order) {
  std::vector<std::size_t> sequence(matrix.columns);
  std::iota(sequence.begin(), sequence.end(), std::size_t{0});
  if (order.convolution) {
    const auto channels = static_cast<std::size_t>(weights[1]);
    const std::size_t taps = matrix.columns / channels;
    for (std::size_t i = 0; i < sequence.size(); ++i) {
      sequence[i] = i % channels * taps + i / channels;
    }
  }
  std::vector<std::size_t> result(matrix.columns);
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    const std::size_t other = i ^ 1U;
    result[sequence[i]] = sequence[other < sequence.size() ? other : i];
  }
  return result;
}

/// The rows of every fourth run that has some: rows of one run are alike. Of few runs, every
/// fourth row.
std::vector<bool> held_back(const LayerRows& rows) {
  constexpr std::size_t kEvery = 4;
  std::vector<std::size_t> place(rows.rows());  // of a row's run among those that have rows
  for (std::size_t i = 1; i < place.size(); ++i) {
    place[i] = place[i - 1] + (rows.run_of(i) != rows.run_of(i - 1) ? 1 : 0);
  }
  const bool by_run = place.back() + 1 >= kEvery;
  std::vector<bool> result(rows.rows());
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = (by_run ? place[i] : i) % kEvery == kEvery - 1;
  }
  return result;
}

}  // namespace

void round_weights(const SimulatedGraph& simulated, const QuantPoint& accumulator,
                   const LayerRows& rows, int threads, QuantTable& table) {
  const Node& node = simulated.source.node(*accumulator.reader);
  const Tensor& exact = *simulated.source.constant(node.inputs[1]);
  PointResult& weight = table.at(accumulator.weight);
  const QuantParams& params = weight.params;
  const StorageRange range = params.range();
  const LayerMatrix& matrix = rows.matrix();

  RoundingTask task;
  task.columns = matrix.columns;
  task.held_back = held_back(rows);
  task.centred = accumulator.corrects_bias;
  task.low = static_cast<float>(range.low);
  task.high = static_cast<float>(range.high);
  task.pair_limit = static_cast<float>(pair_limit(simulated, *accumulator.reader));
  const auto order = kernel_order(simulated.source, node);
  if (task.pair_limit > 0 && order && params.storage == DType::kInt8 &&
      params.zero_point[0] == 0) {
    task.partner = partners(matrix, exact.shape(), *order);
  }

  weight.rounding.assign(static_cast<std::size_t>(exact.size()), 0);
  const QuantParams& input = table.at(accumulator.input).params;
  const auto round_group = [&](std::size_t group, int own_threads) {
    RoundingTask own = task;
    const std::vector<float> inputs = storage_steps(rows.values(group), input);
    own.rows = inputs;
    std::vector<float> steps(matrix.outputs * matrix.columns);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::size_t output = i / matrix.columns;
      const std::size_t channel = params.per_axis() ? group * matrix.outputs + output : 0;
      steps[i] = exact.view<float>()[matrix.at(group, output, i % matrix.columns)] /
                     params.scale[channel] +
                 static_cast<float>(params.zero_point[channel]);
    }
    const std::vector<float> real = steps;
    round_for_outputs(own, steps, own_threads);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      weight.rounding[matrix.at(group, i / matrix.columns, i % matrix.columns)] =
          static_cast<std::int8_t>(steps[i] -
                                   std::clamp(std::nearbyint(real[i]), task.low, task.high));
    }
  };
  // Many groups are small ones.
  if (matrix.groups == 1) {
    round_group(0, threads);
  } else {
    parallel_for(matrix.groups, threads,
                 [&](std::size_t, std::size_t group) { round_group(group, 1); });
  }
  if (std::all_of(weight.rounding.begin(), weight.rounding.end(),
                  [](std::int8_t step) { return step == 0; })) {
    weight.rounding.clear();
  }
}

}  // namespace tare
