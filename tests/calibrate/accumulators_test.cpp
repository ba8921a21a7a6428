#include "calibrate/rounding/accumulators.h"

#include "tare/quantize.h"

#include "calibrate/plain_params.h"
#include "support/simulated.h"

#include <random>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// One quantized layer with its table before accumulators are decided.
struct Layer {
  SimulatedGraph simulated;
  QuantTable table;
  std::string accumulator;

  explicit Layer(const std::string& text) {
    simulated = simulated_with(parse(text));
    for (const QuantPoint& point : simulated.points) {
      if (point.role == Role::kAccumulator) {
        accumulator = point.name;
        continue;
      }
      PointResult& result = table[point.name];
      std::vector<Range> ranges(1, Range{-1, 1});
      if (point.spec.granularity == Granularity::kPerAxis) {
        const Shape& shape = simulated.source.type(point.value).shape;
        ranges.resize(
            static_cast<std::size_t>(shape[static_cast<std::size_t>(point.spec.axis)]),
            Range{-1, 1});
      }
      result.params = to_quant_params(ranges, point.spec);
    }
  }

  void derive(const InputMeans& means) {
    const QuantPoint* point = simulated.find(accumulator);
    derive_accumulators(simulated, {&point, 1}, means, table);
  }

  /// weights - what they become, as real values.
  std::vector<double> lost_weights() const {
    const Tensor& exact = *simulated.source.constant(*simulated.source.find_value("w"));
    const auto values = exact.view<float>();
    const SharedArray<float>& scales = table.at("w").params.scale;
    std::vector<double> lost;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float scale = scales[i / (values.size() / scales.size())];
      const double rounded = plain_storage_value(values[i], scale, 0, -127, 127);
      lost.push_back(static_cast<double>(values[i]) -
                     static_cast<double>(scale * static_cast<float>(rounded)));
    }
    return lost;
  }
};

std::string numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::string text = "[";
  for (std::size_t i = 0; i < count; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(uniform(random));
  }
  return text + "]";
}

TEST(BiasCorrection, RestoresTheMeanOfADenseLayer) {
  Layer layer(
      "graph \"g\" opset 17 (%x : f32[1,16]) -> (%y) {\n"
      "const %w : f32[3,16] = " +
      numbers(48, 1) + "\n" + "%y = Gemm(%x, %w) {transB=1} : f32[1,3]\n}");
  std::vector<double> means;
  for (int i = 0; i < 16; ++i) {
    means.push_back(0.25 * i);
  }
  const std::vector<double> lost = layer.lost_weights();
  layer.derive({{layer.accumulator, {means}}});
  const auto& correction = layer.table.at(layer.accumulator).bias_correction;
  ASSERT_EQ(correction.size(), 3U);
  for (std::size_t o = 0; o < 3; ++o) {
    double expected = 0;
    for (std::size_t i = 0; i < 16; ++i) {
      expected += lost[o * 16 + i] * means[i];
    }
    EXPECT_NEAR(correction[o], expected, 16 * 4 * 0.004 * 0x1p-23) << "output " << o;
  }
}

/// Two outputs that each read one input: what they lose is in proportion to the mean of that.
Layer diagonal() {
  return Layer(
      "graph \"g\" opset 17 (%x : f32[1,2]) -> (%y) {\n"
      "const %w : f32[2,2] = [0.501, 0, 0, -0.501]\n"
      "%y = Gemm(%x, %w) {transB=1} : f32[1,2]\n}");
}

/// Means of a quarter of the runs that is held out, and of the others.
ChannelMeans quartered(const std::vector<double>& others, const std::vector<double>& holdout) {
  ChannelMeans means{{}, holdout, 0.25};
  for (std::size_t i = 0; i < others.size(); ++i) {
    means.all.push_back(0.75 * others[i] + 0.25 * holdout[i]);
  }
  return means;
}

TEST(BiasCorrection, IsRolledBackWhereItTakesHoldoutRunsFurtherOff) {
  // Off by 1 and 1 without it; with it by 0.5 and 1.5, 0 and 1.5, 3 and 0.
  for (const std::vector<double>& others :
       {std::vector<double>{1.5, -0.5}, {1, 2.5}, {-2, 1}}) {
    Layer layer = diagonal();
    layer.derive({{layer.accumulator, quartered(others, {1, 1})}});
    EXPECT_TRUE(layer.table.at(layer.accumulator).bias_correction.empty()) << others[0];
  }
}

TEST(BiasCorrection, OfAllRunsStaysWhereItBringsHoldoutRunsCloser) {
  // Off by 1 and 1 without it; with it by 0.5 and 1.2, 0 and 1.3, 1.3 and 0.5.
  for (const std::vector<double>& others :
       {std::vector<double>{1.5, -0.2}, {1, 2.3}, {-0.3, 0.5}}) {
    Layer layer = diagonal();
    const ChannelMeans means = quartered(others, {1, 1});
    const std::vector<double> lost = layer.lost_weights();
    layer.derive({{layer.accumulator, means}});
    const auto& correction = layer.table.at(layer.accumulator).bias_correction;
    ASSERT_EQ(correction.size(), 2U) << others[0];
    for (std::size_t c = 0; c < 2; ++c) {
      EXPECT_NEAR(correction[c], lost[3 * c] * means.all[c], 0.004 * 2 * 0x1p-23) << others[0];
    }
  }
}

TEST(BiasCorrection, CountsPaddingAsZeros) {
  // Depthwise 3x3, stride 2, padded by 1: of 3x3 output positions, taps of the first row and
  // column see padding at the first position, the last ones at the last.
  Layer layer(
      "graph \"g\" opset 17 (%x : f32[1,2,5,5]) -> (%y) {\n"
      "const %w : f32[2,1,3,3] = " +
      numbers(18, 2) + "\n" +
      "%y = Conv(%x, %w) {group=2, kernel_shape=[3, 3], pads=[1, 1, 1, 1], "
      "strides=[2, 2]} : f32[1,2,3,3]\n}");
  const std::vector<double> means{3, -2};
  const std::vector<double> lost = layer.lost_weights();
  layer.derive({{layer.accumulator, {means}}});
  const auto& correction = layer.table.at(layer.accumulator).bias_correction;
  ASSERT_EQ(correction.size(), 2U);
  for (std::size_t c = 0; c < 2; ++c) {
    double sum = 0;
    for (int oy = 0; oy < 3; ++oy) {
      for (int ox = 0; ox < 3; ++ox) {
        for (int ky = 0; ky < 3; ++ky) {
          for (int kx = 0; kx < 3; ++kx) {
            const int y = oy * 2 + ky - 1;
            const int x = ox * 2 + kx - 1;
            const bool inside = y >= 0 && y < 5 && x >= 0 && x < 5;
            sum += inside ? lost[c * 9 + static_cast<std::size_t>(ky * 3 + kx)] * means[c] : 0;
          }
        }
      }
    }
    EXPECT_NEAR(correction[c], sum / 9, 9 * 3 * 0.004 * 0x1p-22) << "channel " << c;
  }
}

TEST(BiasCorrection, FollowsGroupsGapsAndUnequalPads) {
  // Kernels of 2x3 with gaps of 1x2 over 4x6, padded by 1 above and by 3 behind.
  Layer layer(
      "graph \"g\" opset 17 (%x : f32[2,4,4,6]) -> (%y) {\n"
      "const %w : f32[6,2,2,3] = " +
      numbers(72, 4) + "\n" +
      "%y = Conv(%x, %w) {dilations=[1, 2], group=2, kernel_shape=[2, 3], pads=[1, 0, 0, 3], "
      "strides=[1, 2]} : f32[2,6,4,3]\n}");
  const std::vector<double> means{3, -2, 0.5, 1};
  const std::vector<double> lost = layer.lost_weights();
  layer.derive({{layer.accumulator, {means}}});
  const auto& correction = layer.table.at(layer.accumulator).bias_correction;
  ASSERT_EQ(correction.size(), 6U);
  for (std::size_t o = 0; o < 6; ++o) {
    double sum = 0;
    for (std::size_t i = 0; i < 2 * 4 * 3 * 2 * 3; ++i) {
      const std::size_t c = i / 72;
      const int y = static_cast<int>(i / 18 % 4 + i / 3 % 2) - 1;
      const int x = static_cast<int>(i / 6 % 3 * 2 + i % 3 * 2);
      const bool inside = y >= 0 && y < 4 && x < 6;
      sum += inside ? lost[(o * 2 + c) * 6 + i % 6] * means[o / 3 * 2 + c] : 0;
    }
    EXPECT_NEAR(correction[o], sum / 12, 12 * 3 * 0.004 * 0x1p-23) << "output " << o;
  }
}

TEST(BiasCorrection, IsLeftOutWithoutMeans) {
  Layer layer(
      "graph \"g\" opset 17 (%x : f32[1,4]) -> (%y) {\n"
      "const %w : f32[4,4] = " +
      numbers(16, 3) + "\n" + "%y = Gemm(%x, %w) : f32[1,4]\n}");
  layer.derive({});
  EXPECT_TRUE(layer.table.at(layer.accumulator).bias_correction.empty());
}

TEST(Accumulators, WidenTheWeightUntilTheCorrectedBiasFits) {
  Layer layer(
      "graph \"g\" opset 17 (%x : f32[1,4]) -> (%y) {\n"
      "const %w : f32[2,4] = [0.5, 0, 0, 0, 0.503, 0, 0, 0]\n"
      "const %b : f32[2] = [0, 0]\n"
      "%y = Gemm(%x, %w, %b) {transB=1} : f32[1,2]\n}");
  // Errors of half a weight step times this mean leave int32 at the scale of the accumulator.
  const std::vector<double> means{1e10, 0, 0, 0};
  const QuantParams before = layer.table.at("w").params;
  layer.derive({{layer.accumulator, {means}}});
  const PointResult& weight = layer.table.at("w");
  EXPECT_FALSE(weight.widened_channels.empty());
  EXPECT_GT(weight.params.scale[1], before.scale[1]);
  const PointResult& accumulator = layer.table.at(layer.accumulator);
  for (std::size_t c = 0; c < 2; ++c) {
    EXPECT_LE(std::abs(static_cast<double>(accumulator.bias_correction[c]) /
                       static_cast<double>(accumulator.params.scale[c])),
              0x1p31);
  }
}

}  // namespace
}  // namespace tare::test
