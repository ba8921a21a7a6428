#include "calibrate/rounding/gptq.h"

#include "calibrate/plain_gptq.h"
#include "calibrate/rounding/input_hessian.h"
#include "support/team.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Rows and weights of one layer.
struct RoundedLayer {
  std::size_t columns;
  std::vector<float> rows;
  std::vector<float> weights;

  MatrixTask task() const {
    MatrixTask task;
    task.columns = columns;
    task.rows = rows;
    task.holdout.resize(rows.size() / columns);
    for (std::size_t i = 0; i < task.holdout.size(); ++i) {
      task.holdout[i] = i % 4 == 3;
    }
    task.low = -127;
    task.high = 127;
    return task;
  }
};

/// Neighbouring columns have much in common, as neighbouring pixels do.
RoundedLayer correlated_layer(std::size_t columns, std::size_t outputs, std::size_t rows,
                              std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  RoundedLayer layer{columns, {}, {}};
  for (std::size_t row = 0; row < rows; ++row) {
    float level = 60 * normal(random);
    for (std::size_t c = 0; c < columns; ++c) {
      level = 0.9F * level + 20 * normal(random);
      layer.rows.push_back(std::clamp(std::nearbyint(level), -128.0F, 127.0F));
    }
  }
  for (std::size_t i = 0; i < outputs * columns; ++i) {
    layer.weights.push_back(std::clamp(40 * normal(random), -127.0F, 127.0F));
  }
  return layer;
}

std::vector<float> nearest(const RoundedLayer& layer) {
  std::vector<float> integers = layer.weights;
  for (float& value : integers) {
    value = std::nearbyint(value);
  }
  return integers;
}

std::vector<float> rounded(const RoundedLayer& layer, const MatrixTask& task, int threads = 1) {
  std::vector<float> integers = layer.weights;
  round_matrix(task, integers, threads);
  return integers;
}

/// Mean squared error of one output over all rows, without its mean where that does not count.
double error_of(const RoundedLayer& layer, const std::vector<float>& integers,
                std::size_t output, bool centred = false) {
  const std::size_t columns = layer.columns;
  const std::size_t rows = layer.rows.size() / columns;
  double sum = 0;
  double squares = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    double error = 0;
    for (std::size_t c = 0; c < columns; ++c) {
      const std::size_t at = output * columns + c;
      error += static_cast<double>(layer.rows[row * columns + c]) *
               (static_cast<double>(layer.weights[at]) - static_cast<double>(integers[at]));
    }
    sum += error;
    squares += error * error;
  }
  const auto count = static_cast<double>(rows);
  return squares / count - (centred ? sum / count * sum / count : 0);
}

TEST(Gptq, IsCloseToTheBestOfAllChoices) {
  // Eight weights have 3^8 choices of nearest and its neighbours.
  constexpr std::size_t kColumns = 8;
  double found = 0;
  double best = 0;
  double plain = 0;
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const RoundedLayer layer = correlated_layer(kColumns, 1, 400, seed);
    found += error_of(layer, rounded(layer, layer.task()), 0);
    plain += error_of(layer, nearest(layer), 0);
    double least = std::numeric_limits<double>::infinity();
    for (int choice = 0; choice < 6561; ++choice) {
      std::vector<float> integers = nearest(layer);
      for (int c = 0, rest = choice; c < 8; ++c, rest /= 3) {
        integers[static_cast<std::size_t>(c)] += static_cast<float>(rest % 3 - 1);
      }
      least = std::min(least, error_of(layer, integers, 0));
    }
    best += least;
  }
  EXPECT_LT(best, 0.3 * plain);  // the cases do tell choices apart
  EXPECT_LT(found, 1.3 * best);  // not a search of all, but of the same kind
}

TEST(Gptq, LeavesUncorrelatedColumnsAtTheNearestInteger) {
  // Without products between columns every weight stands for itself.
  RoundedLayer layer{3, {}, {0.4F, 1.6F, -2.2F, 3.49F, -0.51F, 0.0F}};
  for (int i = 0; i < 16; ++i) {
    for (std::size_t c = 0; c < 3; ++c) {
      layer.rows.push_back(
          static_cast<std::size_t>(i % 6 / 2) == c ? (i % 2 == 0 ? 9.0F : -9.0F) : 0.0F);
    }
  }
  EXPECT_EQ(rounded(layer, layer.task()), nearest(layer));
}

/// The tasks that the test below compares on.
struct ComparedTask {
  const char* name;
  std::size_t columns;
  bool centred;
  bool in_pairs;
  bool in_blocks;
};

class GptqTask : public ::testing::TestWithParam<ComparedTask> {};

INSTANTIATE_TEST_SUITE_P(Kinds, GptqTask,
                         ::testing::Values(ComparedTask{"Plain", 20, false, false, false},
                                           ComparedTask{"Centred", 20, true, false, false},
                                           ComparedTask{"InPairs", 21, false, true, false},
                                           ComparedTask{"CentredPairs", 40, true, true, false},
                                           ComparedTask{"InBlocks", 24, false, false, true},
                                           ComparedTask{"InPanels", 80, true, true, false}),
                         [](const auto& given) { return given.param.name; });

TEST_P(GptqTask, IsSolvedAsByTheDefinitionInPlainLoops) {
  constexpr std::size_t kOutputs = 40;
  const std::size_t columns = GetParam().columns;
  std::size_t unlike = 0;
  for (std::uint32_t seed = 0; seed < 5; ++seed) {
    RoundedLayer layer = correlated_layer(columns, kOutputs, 400, 100 + seed);
    MatrixTask task = layer.task();
    task.centred = GetParam().centred;
    if (GetParam().in_pairs) {
      for (float& weight : layer.weights) {
        weight = std::clamp(1.5F * weight, -64.0F, 64.0F);
      }
      task.pair_limit = 128;
      for (std::size_t c = 0; c < columns; ++c) {
        task.partner.push_back((c ^ 1U) < columns ? c ^ 1U : c);
      }
    }
    std::vector<float> steps;
    if (GetParam().in_blocks) {
      for (std::size_t i = 0; i < layer.weights.size(); ++i) {
        steps.push_back(1.0F / static_cast<float>(1 + i / 8 % 5));
      }
      task.steps = steps;
    }
    const std::vector<float> integers = rounded(layer, task);
    EXPECT_NE(integers, nearest(layer));
    unlike += outputs_unlike_plain(task, layer.weights, integers);
  }
  // One of some ten thousand choices may lie so near the edge between two integers that float32
  // takes the other one, and then those after it may differ, too.
  EXPECT_LE(unlike, 5 * kOutputs / 50);
}

TEST(Gptq, RoundsALargeMatrixInPartsAsItsPartsAlone) {
  constexpr std::size_t kColumns = 64;
  constexpr std::size_t kInMemory = std::size_t{1} << 22U;  // weights, at a time
  constexpr std::size_t kLast = 300;                        // outputs
  const RoundedLayer layer = correlated_layer(kColumns, kInMemory / kColumns + kLast, 40, 8);
  const std::vector<float> all = rounded(layer, layer.task(), 3);
  RoundedLayer last = layer;
  const auto first = layer.weights.end() - kLast * kColumns;
  last.weights.assign(first, layer.weights.end());
  const std::vector<float> alone = rounded(last, last.task());
  EXPECT_TRUE(std::equal(alone.begin(), alone.end(), all.end() - kLast * kColumns));
  EXPECT_NE(alone, nearest(last));
}

TEST(Gptq, MovesNoWeightByMoreThanOneStepFromTheNearest) {
  const RoundedLayer layer = correlated_layer(64, 16, 600, 1);
  const std::vector<float> integers = rounded(layer, layer.task());
  const std::vector<float> plain = nearest(layer);
  std::size_t moved = 0;
  for (std::size_t i = 0; i < integers.size(); ++i) {
    EXPECT_EQ(integers[i], std::nearbyint(integers[i]));
    EXPECT_LE(std::abs(integers[i] - plain[i]), 1);
    EXPECT_LE(std::abs(integers[i]), 127);
    moved += integers[i] != plain[i] ? 1 : 0;
  }
  EXPECT_GT(moved, integers.size() / 10);
}

TEST(Gptq, LeavesAnOutputAloneWhereHoldoutRowsShowNoGain) {
  // The holdout rows have nothing in common with the others.
  RoundedLayer layer = correlated_layer(16, 8, 400, 2);
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (std::size_t row = 3; row < 400; row += 4) {
    for (std::size_t c = 0; c < 16; ++c) {
      layer.rows[row * 16 + c] = std::nearbyint(20 * normal(random));
    }
  }
  const std::vector<float> integers = rounded(layer, layer.task());
  const std::vector<float> plain = nearest(layer);
  std::size_t left = 0;
  for (std::size_t output = 0; output < 8; ++output) {
    const auto first = static_cast<std::ptrdiff_t>(output * 16);
    left += std::equal(integers.begin() + first, integers.begin() + first + 16,
                       plain.begin() + first)
                ? 1
                : 0;
  }
  EXPECT_GE(left, 7U);
}

TEST(Gptq, KeepsPairsWithinTheirLimit) {
  RoundedLayer layer = correlated_layer(32, 32, 600, 4);
  for (float& weight : layer.weights) {
    weight = std::clamp(weight, -64.0F, 64.0F);  // nearest are within the limit, just
  }
  for (std::size_t i = 0; i < layer.weights.size(); i += 3) {
    layer.weights[i] = i % 2 == 0 ? 63.9F : -63.9F;
  }
  MatrixTask task = layer.task();
  task.pair_limit = 128;
  for (std::size_t c = 0; c < 32; ++c) {
    task.partner.push_back(c ^ 1U);
  }
  const std::vector<float> integers = rounded(layer, task);
  for (std::size_t i = 0; i < integers.size(); i += 2) {
    EXPECT_LE(std::abs(integers[i] + integers[i + 1]), 128);
  }
  EXPECT_NE(integers, nearest(layer));
}

TEST(Gptq, DoesNotCountTheMeanWhereABiasUndoesIt) {
  // All columns have a large mean: with it the weights would be bent to keep their sum.
  RoundedLayer layer = correlated_layer(32, 16, 800, 5);
  for (float& value : layer.rows) {
    value = std::nearbyint(value / 4) + 100;
  }
  MatrixTask task = layer.task();
  const std::vector<float> with_mean = rounded(layer, task);
  task.centred = true;
  const std::vector<float> without = rounded(layer, task);
  double sum_with = 0;
  double sum_without = 0;
  for (std::size_t output = 0; output < 16; ++output) {
    sum_with += error_of(layer, with_mean, output, true);
    sum_without += error_of(layer, without, output, true);
  }
  EXPECT_LT(sum_without, sum_with);
}

TEST(Gptq, DoesNotDependOnThreads) {
  const RoundedLayer layer = correlated_layer(48, 100, 500, 6);
  const std::vector<float> one = rounded(layer, layer.task(), 1);
  for (const int threads : {2, 3, 7}) {
    EXPECT_EQ(rounded(layer, layer.task(), threads), one);
  }
}

TEST(Gptq, TakesMoreColumnsThanItLooksAtTogether) {
  const RoundedLayer layer = correlated_layer(2100, 2, 300, 7);
  const std::vector<float> integers = rounded(layer, layer.task());
  for (std::size_t output = 0; output < 2; ++output) {
    EXPECT_LT(error_of(layer, integers, output), error_of(layer, nearest(layer), output));
  }
}

TEST(Gptq, OfRowsThatAreZeroIsToNearest) {
  RoundedLayer layer = correlated_layer(8, 4, 40, 8);
  std::fill(layer.rows.begin(), layer.rows.end(), 0.0F);
  EXPECT_EQ(rounded(layer, layer.task()), nearest(layer));
}

/// Columns far from 0, of which little is left without their means.
RoundedLayer layer_far_from_zero(std::size_t columns, std::size_t rows) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> digits(0, 3);
  RoundedLayer layer{columns, {}, {}};
  for (std::size_t i = 0; i < rows * columns; ++i) {
    layer.rows.push_back(static_cast<float>(250 + digits(random)));
  }
  return layer;
}

// Tiles on the diagonal are not symmetric to the last bit, so they may not be turned over on
// their way from one process to another.
TEST(InputHessian, IsTheSameToTheLastBitForSeveralProcesses) {
  const RoundedLayer layer = layer_far_from_zero(300, 333);
  MatrixTask task = layer.task();
  task.centred = true;
  const InputHessian alone(task, 0, layer.columns, 1);
  for (const InputHessian& shared : by_team(3, [&](Member& member) {
         MatrixTask own = task;
         own.team = &member;
         return InputHessian(own, 0, layer.columns, 1);
       })) {
    EXPECT_EQ(shared.order(), alone.order());
    EXPECT_TRUE((shared.hessian().array() == alone.hessian().array()).all());
  }
}

TEST(Gptq, SendsAsManyBytesAsThePageSays) {
  constexpr std::size_t kOutputs = 96;
  const RoundedLayer layer = correlated_layer(1024 + 512, kOutputs, 64, 3);
  constexpr std::size_t kRanks = 3;
  Exchange table(kRanks);
  std::vector<std::thread> members;
  for (int rank = 0; rank < static_cast<int>(kRanks); ++rank) {
    members.emplace_back([&, rank] {
      Member member(table, rank);
      MatrixTask task = layer.task();
      task.team = &member;
      std::vector<float> weights = layer.weights;
      round_matrix(task, weights, 1);
    });
  }
  for (std::thread& member : members) {
    member.join();
  }
  std::size_t hessians = 0;
  for (const std::size_t block : {std::size_t{1024}, std::size_t{512}}) {
    hessians += 2 * block * (block + 128);
  }
  EXPECT_EQ(table.bytes[Message::kHessians], hessians);
}

}  // namespace
}  // namespace tare::test
