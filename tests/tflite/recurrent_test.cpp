// SVDF and LSTM in float against plain loops over a state.
#include "tare/error.h"
#include "tare/execute.h"

#include "support/message.h"
#include "tflite/import.h"
#include "tflite/row_values.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using namespace tflite::schema;
using tare::Tensor;  // and not that of files

std::vector<float> random_values(std::int64_t count, float bound, std::mt19937& random) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::uniform_real_distribution<float> any(-bound, bound);
  std::generate(values.begin(), values.end(), [&] { return any(random); });
  return values;
}

std::vector<float> computed(const RowCase& one, const Tensor& x) {
  const Graph graph = tflite::import_model(tflite::ModelFile(file_of(one)));
  return Executable(graph).run(std::span(&x, 1)).at(0).to_float();
}

void expect_near(const std::vector<float>& ours, const std::vector<double>& wanted,
                 double bound) {
  ASSERT_EQ(ours.size(), wanted.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(ours[i]), wanted[i], bound) << i;
  }
}

TEST(TfliteRecurrent, SvdfIsThatOfALoopOverAStateThatWasZero) {
  constexpr std::size_t kBatch = 3;
  constexpr std::size_t kInputs = 5;
  constexpr std::size_t kFilters = 8;
  constexpr std::size_t kMemory = 4;
  constexpr std::size_t kRank = 2;
  constexpr std::size_t kUnits = kFilters / kRank;
  std::mt19937 random(7);
  const auto x = random_values(kBatch * kInputs, 1, random);
  const auto feature = random_values(kFilters * kInputs, 1, random);
  const auto time = random_values(kFilters * kMemory, 1, random);
  const auto bias = random_values(kUnits, 1, random);
  const RowCase one{
      Builtin_SVDF,
      {{f32({kBatch, kInputs}, x)},
       constant(f32({kFilters, kInputs}, feature)),
       constant(f32({kFilters, kMemory}, time)),
       constant(f32({kUnits}, bias)),
       state({kBatch, kFilters * kMemory})},
      {{Tensor(DType::kFloat32, {kBatch, kUnits})}},
      BuiltinOptions_SVDFOptions,
      [](auto& to) { return CreateSVDFOptions(to, kRank, Activation_RELU).Union(); }};
  std::vector<double> wanted;
  for (std::size_t b = 0; b < kBatch; ++b) {
    std::vector<double> memory(kFilters * kMemory);  // the newest last
    for (std::size_t f = 0; f < kFilters; ++f) {
      for (std::size_t i = 0; i < kInputs; ++i) {
        memory[(f + 1) * kMemory - 1] += static_cast<double>(x[b * kInputs + i]) *
                                         static_cast<double>(feature[f * kInputs + i]);
      }
    }
    for (std::size_t u = 0; u < kUnits; ++u) {
      double sum = static_cast<double>(bias[u]);
      for (std::size_t k = 0; k < kRank * kMemory; ++k) {
        sum += memory[u * kRank * kMemory + k] *
               static_cast<double>(time[u * kRank * kMemory + k]);
      }
      wanted.push_back(std::max(sum, 0.0));
    }
  }
  expect_near(computed(one, one.operands[0].values), wanted, 1e-5);
}

/// Gates in the order of the file: input, forget, cell, output.
struct LstmCase {
  std::size_t steps = 0;
  bool time_major = false;
  bool peeps = false;
  bool couples = false;  ///< the input gate is what the forget gate leaves
  float clip = 0;
  float bound = 1;  ///< of weights
};

constexpr std::size_t kBatch = 2;
constexpr std::size_t kInputs = 3;
constexpr std::size_t kHidden = 4;

double sigmoid_of(double x) {
  return 1 / (1 + std::exp(-x));
}

struct LstmWeights {
  std::vector<std::vector<float>> w, r, b, peepholes;
};

LstmWeights random_weights(const LstmCase& of, std::mt19937& random) {
  LstmWeights weights;
  for (int gate = 0; gate < 4; ++gate) {
    weights.w.push_back(random_values(kHidden * kInputs, of.bound, random));
    weights.r.push_back(random_values(kHidden * kHidden, of.bound, random));
    weights.b.push_back(random_values(kHidden, of.bound, random));
  }
  for (int gate = 0; of.peeps && gate < 3; ++gate) {
    weights.peepholes.push_back(random_values(kHidden, of.bound, random));
  }
  return weights;
}

RowCase case_of(const LstmCase& of, const LstmWeights& weights, const Tensor& x) {
  RowCase one{Builtin_UNIDIRECTIONAL_SEQUENCE_LSTM,
              {{x}},
              {},
              BuiltinOptions_UnidirectionalSequenceLSTMOptions,
              [of](auto& to) {
                return CreateUnidirectionalSequenceLSTMOptions(to, Activation_TANH, of.clip, 0,
                                                               of.time_major)
                    .Union();
              }};
  Shape result = x.shape();
  result.back() = kHidden;
  one.results.push_back({Tensor(DType::kFloat32, result)});
  const auto add = [&](const Shape& shape, const std::vector<std::vector<float>>& gates) {
    for (std::size_t gate = 0; gate < gates.size(); ++gate) {
      const bool is_left_out = gate == 0 && of.couples;
      one.operands.push_back(is_left_out ? absent() : constant(f32(shape, gates[gate])));
    }
  };
  add({kHidden, kInputs}, weights.w);
  add({kHidden, kHidden}, weights.r);
  if (of.peeps) {
    add({kHidden}, weights.peepholes);
  } else {
    one.operands.insert(one.operands.end(), 3, absent());
  }
  add({kHidden}, weights.b);
  one.operands.insert(one.operands.end(),
                      {absent(), absent(), state({kBatch, kHidden}), state({kBatch, kHidden})});
  return one;
}

/// The hidden states, in the order of the file; how far a cell went is in `furthest`.
std::vector<double> by_loop(const LstmCase& of, const LstmWeights& weights,
                            const std::vector<float>& x, double& furthest) {
  std::vector<double> result(of.steps * kBatch * kHidden);
  for (std::size_t image = 0; image < kBatch; ++image) {
    std::vector<double> hidden(kHidden);
    std::vector<double> cell(kHidden);
    for (std::size_t t = 0; t < of.steps; ++t) {
      const std::size_t at = of.time_major ? t * kBatch + image : image * of.steps + t;
      std::vector<double> next_hidden(kHidden);
      std::vector<double> next_cell(kHidden);
      for (std::size_t k = 0; k < kHidden; ++k) {
        const auto sum = [&](std::size_t gate) {
          double all = static_cast<double>(weights.b[gate][k]);
          for (std::size_t i = 0; i < kInputs; ++i) {
            all += static_cast<double>(weights.w[gate][k * kInputs + i]) *
                   static_cast<double>(x[at * kInputs + i]);
          }
          for (std::size_t i = 0; i < kHidden; ++i) {
            all += static_cast<double>(weights.r[gate][k * kHidden + i]) * hidden[i];
          }
          return all;
        };
        const auto peep = [&](std::size_t which, double at_cell) {
          return of.peeps ? static_cast<double>(weights.peepholes[which][k]) * at_cell : 0;
        };
        const double forget = sigmoid_of(sum(1) + peep(1, cell[k]));
        const double input = of.couples ? 1 - forget : sigmoid_of(sum(0) + peep(0, cell[k]));
        double c = forget * cell[k] + input * std::tanh(sum(2));
        furthest = std::max(furthest, std::abs(c));
        if (of.clip > 0) {
          c = std::clamp(c, -static_cast<double>(of.clip), static_cast<double>(of.clip));
        }
        next_cell[k] = c;
        next_hidden[k] = sigmoid_of(sum(3) + peep(2, c)) * std::tanh(c);
        result[at * kHidden + k] = next_hidden[k];
      }
      hidden = next_hidden;
      cell = next_cell;
    }
  }
  return result;
}

class TfliteLstm : public ::testing::TestWithParam<LstmCase> {};

TEST_P(TfliteLstm, IsThatOfALoopOverAStateThatWasZero) {
  const LstmCase& of = GetParam();
  std::mt19937 random(11);
  const auto steps = static_cast<std::int64_t>(of.steps);
  const Shape shape =
      of.time_major ? Shape{steps, kBatch, kInputs} : Shape{kBatch, steps, kInputs};
  const auto x = random_values(element_count(shape), 2, random);
  const LstmWeights weights = random_weights(of, random);
  double furthest = 0;
  const std::vector<double> wanted = by_loop(of, weights, x, furthest);
  if (of.clip > 0) {
    EXPECT_GT(furthest, static_cast<double>(of.clip)) << "the bound would not be missed";
  }
  // Sums of some terms in float32, through a few steps.
  expect_near(computed(case_of(of, weights, f32(shape, x)), f32(shape, x)), wanted, 2e-5);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, TfliteLstm,
    ::testing::Values(LstmCase{.steps = 6}, LstmCase{.steps = 6, .time_major = true},
                      LstmCase{.steps = 6, .peeps = true}, LstmCase{.steps = 9, .clip = 0.5F},
                      LstmCase{.steps = 9, .time_major = true, .peeps = true, .clip = 0.5F},
                      LstmCase{.steps = 6, .couples = true},
                      LstmCase{.steps = 9, .peeps = true, .couples = true, .clip = 0.5F}));

TEST(TfliteRecurrent, AnLstmWhoseCellCannotReachItsBoundIsOneNode) {
  const auto ops = [](const LstmCase& of) {
    std::mt19937 random(3);
    const Tensor x(DType::kFloat32, {kBatch, static_cast<std::int64_t>(of.steps), kInputs});
    const Graph graph = tflite::import_model(
        tflite::ModelFile(file_of(case_of(of, random_weights(of, random), x))));
    std::size_t found = 0;
    for (const NodeId node : graph.nodes()) {
      found += graph.node(node).op == "LSTM" ? 1 : 0;
    }
    return found;
  };
  EXPECT_EQ(ops({.steps = 10, .clip = 10}), 1U);
  EXPECT_EQ(ops({.steps = 11, .clip = 10}), 0U);
}

TEST(TfliteRecurrent, AVariableIsReadByOperatorsWithAStateOnly) {
  RowCase one{Builtin_ABS, {state({2})}, {{f32({2}, {0, 0})}}};
  EXPECT_NE(message_of([&] { return tflite::import_model(tflite::ModelFile(file_of(one))); },
                       ErrorCode::kUnsupported)
                .find("is a variable"),
            std::string::npos);
}

}  // namespace
}  // namespace tare::test
