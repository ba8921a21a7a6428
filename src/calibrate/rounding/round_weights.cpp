// Prepares one layer for GPTQ (gptq.h) and stores what comes of it as steps from the nearest
// integers. Rows of inputs become storage values less the zero point, of 8 bits at most, since
// gptq.cpp relies on exact float32 sums of such integers. Weights are in units of their own
// scale. Columns that an x86 kernel adds in 16 bits are named as partners, so that their sum
// keeps within the target's limit
// (docs/decisions/0009-neighbouring-weights-stay-within-128.md).
//
// Beside GPTQ itself it costs one copy of the rows and two of the weights.
#include "calibrate/rounding/round_weights.h"

#include "tare/simulate.h"

#include "base/large_memory.h"
#include "base/parallel.h"
#include "calibrate/rounding/block_ranges.h"
#include "calibrate/rounding/byte_steps.h"
#include "calibrate/rounding/gptq.h"
#include "calibrate/rounding/weights.h"
#include "calibrate/sequential/holdout.h"
#include "calibrate/statistics/share_parts.h"
#include "graph/arithmetic/per_axis.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

namespace tare {
namespace {

LargeArray<float> storage_steps(std::span<const float> values, const ByteSteps& steps,
                                int threads) {
  constexpr std::size_t kChunk = std::size_t{1} << 16U;
  LargeArray<float> result(values.size());
  const std::span<float> rounded = result.span();
  parallel_for((values.size() + kChunk - 1) / kChunk, threads,
               [&](std::size_t, std::size_t chunk) {
                 const std::size_t end = std::min(values.size(), (chunk + 1) * kChunk);
                 for (std::size_t i = chunk * kChunk; i < end; ++i) {
                   rounded[i] = steps.of(values[i]);
                 }
               });
  return result;
}

/// Real rows in integers of 8 bits. Columns have units of their own: those of a few outliers,
/// as language models have them, would leave nothing of the others.
struct RealRows {
  LargeArray<float> integers;
  std::vector<float> units;  ///< of numbers near 1
};

RealRows in_integers(std::span<const float> values, std::size_t columns, int threads) {
  constexpr float kMost = 127;
  RealRows result{LargeArray<float>(values.size()), std::vector<float>(columns, 0)};
  std::vector<float>& units = result.units;
  for (std::size_t i = 0; i < values.size(); ++i) {
    float& own = units[i % columns];
    own = std::max(own, std::abs(values[i]) / kMost);
  }
  const std::span<float> integers = result.integers.span();
  parallel_for(values.size() / columns, threads, [&](std::size_t, std::size_t row) {
    for (std::size_t c = 0; c < columns; ++c) {
      const std::size_t i = row * columns + c;
      integers[i] = units[c] > 0 ? std::nearbyint(values[i] / units[c]) : 0;
    }
  });
  const float largest = *std::max_element(units.begin(), units.end());
  for (float& unit : units) {
    unit = largest > 0 ? unit / largest : 1;
  }
  return result;
}

/// Calls body(stride), which is known while compiling where elements are neighbours, so that
/// their loop becomes vector code.
template <class Body>
void with_stride(std::size_t stride, const Body& body) {
  if (stride == 1) {
    body(std::integral_constant<std::size_t, 1>());
  } else {
    body(stride);
  }
}

/// weights = values / scale + zero
void divide(const float* values, std::size_t stride, float scale, float zero,
            std::span<float> weights) {
  with_stride(stride, [=](auto known) {
    float* const to = weights.data();
    for (std::size_t i = 0; i < weights.size(); ++i) {
      to[i] = values[i * known] / scale + zero;
    }
  });
}

/// differences = integers - the nearest ones of the weights, within limits
void subtract_nearest(std::span<const float> integers, std::span<const float> weights,
                      std::pair<float, float> limits, std::int8_t* __restrict differences,
                      std::size_t stride) {
  with_stride(stride, [=](auto known) {
    const float* const from = integers.data();
    const float* const exact = weights.data();
    const auto [low, high] = limits;
    for (std::size_t i = 0; i < integers.size(); ++i) {
      const float nearest = std::clamp(std::nearbyint(exact[i]), low, high);
      differences[i * known] =
          static_cast<std::int8_t>(static_cast<std::int32_t>(from[i] - nearest));
    }
  });
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

/// Rows of holdout runs among those that have some: rows of one run are alike. Of few runs,
/// rows themselves.
std::vector<bool> holdout(const LayerRows& rows) {
  std::vector<std::size_t> place(rows.rows());  // of a row's run among those that have rows
  for (std::size_t i = 1; i < place.size(); ++i) {
    place[i] = place[i - 1] + (rows.run_of(i) != rows.run_of(i - 1) ? 1 : 0);
  }
  const bool by_run = place.back() + 1 >= kHoldoutOneIn;
  std::vector<bool> result(rows.rows());
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = is_holdout(by_run ? place[i] : i);
  }
  return result;
}

/// Gives all processes the differences of the outputs that each has rounded, in the order of
/// the weights.
void share_differences(const RoundingTask& task, const LayerMatrix& matrix,
                       std::span<std::int8_t> differences) {
  // Calls body(line) for neighbours in memory.
  const auto for_each_line = [&](int rank, const auto& body) {
    const Share own = rounded_by(rank, task, matrix.outputs);
    if (matrix.column_stride == 1) {
      body(differences.subspan(own.first * matrix.columns, own.count() * matrix.columns));
      return;
    }
    for (std::size_t column = 0; column < matrix.columns; ++column) {
      body(differences.subspan(matrix.at(0, own.first, column), own.count()));
    }
  };
  share_parts(
      *task.team, Message::kRoundings,
      [&](int rank) { return rounded_by(rank, task, matrix.outputs).count() * matrix.columns; },
      [&](std::span<std::byte> part) {
        for_each_line(task.team->rank(), [&](std::span<const std::int8_t> line) {
          std::ranges::copy(std::as_bytes(line), part.begin());
          part = part.subspan(line.size());
        });
      },
      [&](int rank, std::span<const std::byte> part) {
        for_each_line(rank, [&](std::span<std::int8_t> line) {
          std::ranges::copy(part.first(line.size()), std::as_writable_bytes(line).begin());
          part = part.subspan(line.size());
        });
      });
}

}  // namespace

void round_weights(const SimulatedGraph& simulated, const QuantPoint& accumulator_or_weight,
                   const LayerRows& rows, int threads, QuantTable& table, Communicator* team) {
  const QuantPoint& point = accumulator_or_weight;
  const Node& node = simulated.source.node(*point.reader);
  const Tensor& exact = *simulated.source.constant(node.inputs[1]);
  const bool in_blocks = point.role == Role::kWeight;
  PointResult& weight = table.at(in_blocks ? point.name : point.weight);
  // A calibrator that was asked for has chosen them.
  if (in_blocks && point.calibrator == CalibratorChoice() && rows.matrix().groups == 1) {
    fit_block_ranges(exact, point.spec, rows, threads, weight);
  }
  const QuantParams& params = weight.params;
  const StorageRange range = params.range();
  const LayerMatrix& matrix = rows.matrix();

  RoundingTask task;
  task.columns = matrix.columns;
  task.holdout = holdout(rows);
  task.centred = point.corrects_bias;
  task.low = static_cast<float>(range.low);
  task.high = static_cast<float>(range.high);
  task.pair_limit = in_blocks ? 0 : static_cast<float>(pair_limit(simulated, *point.reader));
  const auto order = kernel_order(simulated.source, node);
  if (task.pair_limit > 0 && order && params.storage == DType::kInt8 &&
      params.zero_point[0] == 0) {
    task.partner = partners(matrix, exact.shape(), *order);
  }

  SharedArray<std::int8_t> all(static_cast<std::size_t>(exact.size()));
  const std::span<std::int8_t> rounding = all.mutable_view();
  const auto values = exact.view<float>();
  const PlaceOfParameters place(exact.shape(), params.axis, params.block);
  const float largest = *std::max_element(params.scale.begin(), params.scale.end());
  const auto round_group = [&](std::size_t group, int own_threads) {
    RoundingTask own = task;
    RealRows inputs;
    if (in_blocks) {
      inputs = in_integers(rows.values(group), matrix.columns, own_threads);
      own.units = inputs.units;
    } else {
      inputs.integers = storage_steps(rows.values(group),
                                      ByteSteps(table.at(point.input).params), own_threads);
    }
    own.rows = inputs.integers.span();
    const auto read = [&](std::size_t output, std::span<float> weights,
                          std::span<float> steps) {
      if (!in_blocks) {  // all of an output have one scale
        const std::size_t first = matrix.at(group, output, 0);
        const std::size_t own_place = place(first);
        divide(&values[first], matrix.column_stride, params.scale[own_place],
               static_cast<float>(params.zero_point[own_place]), weights);
        return;
      }
      for (std::size_t column = 0; column < matrix.columns; ++column) {
        const std::size_t at = matrix.at(group, output, column);
        const std::size_t own_place = place(at);
        const float scale = params.scale[own_place];
        weights[column] = values[at] / scale + static_cast<float>(params.zero_point[own_place]);
        steps[column] = scale / largest;  // of numbers near 1
      }
    };
    const auto write = [&](std::size_t output, std::span<const float> integers,
                           std::span<const float> weights) {
      subtract_nearest(integers, weights, {task.low, task.high},
                       &rounding[matrix.at(group, output, 0)], matrix.column_stride);
    };
    round_by_gptq(
        own, {.outputs = matrix.outputs, .has_steps = in_blocks, .read = read, .write = write},
        own_threads);
  };
  // Many groups are small ones, which every process rounds for itself.
  if (matrix.groups == 1) {
    task.team = team;
    round_group(0, threads);
    if (team != nullptr) {
      share_differences(task, matrix, rounding);
    }
  } else {
    parallel_for(matrix.groups, threads,
                 [&](std::size_t, std::size_t group) { round_group(group, 1); });
  }
  weight.rounding = unless_nearest(std::move(all));
}

}  // namespace tare
