#include "tare/error.h"

#include "lower/lower.h"
#include "support/config.h"
#include "support/files/digits.h"
#include "support/files/samples_in_memory.h"
#include "support/params.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

class PowerOfTwo : public testing::Test {
 protected:
  QuantizeResult quantized(const std::vector<std::string>& settings) const {
    return quantize(digits_.model, *digits_.data, config_with(settings), Toolkit::builtin());
  }

  const Digits digits_;
};

TEST_F(PowerOfTwo, IsEveryScaleOfTheIntegerGraphWhereBothKeysAskForIt) {
  for (const char* schedule :
       {"calibration.schedule=sequential", "calibration.schedule=independent"}) {
    const QuantizeResult result =
        quantized({"activations.power_of_two=true", "weights.power_of_two=true", schedule});
    bool widened = false;
    for (const auto& [name, point] : result.table) {
      EXPECT_TRUE(are_powers_of_two(point.params.scale)) << name;
      widened = widened || !point.widened_channels.empty();
    }
    EXPECT_TRUE(widened) << "nothing shows that widened weights stay powers of two";
    std::size_t quantized = 0;
    for (const ValueId value : result.integer.values()) {
      if (const auto& params = result.integer.type(value).quant) {
        EXPECT_TRUE(are_powers_of_two(params->scale)) << result.integer.name(value);
        ++quantized;
      }
    }
    EXPECT_GT(quantized, result.table.size() / 2) << "the graph does not say its parameters";
  }
}

TEST_F(PowerOfTwo, LetsTheIntegerGraphRescaleByShifts) {
  const auto integer = [&](const char* rounding) {
    return quantized({"activations.power_of_two=true", "weights.power_of_two=true",
                      std::string("requantize.rounding=") + rounding})
        .integer;
  };
  const Graph shifts = integer("shift");
  std::size_t rescaled = 0;
  for (const NodeId id : shifts.nodes()) {
    if (shifts.node(id).op == "Requantize") {
      EXPECT_EQ(shifts.node(id).attributes.text("rounding"), "shift");
      ++rescaled;
    }
  }
  EXPECT_GT(rescaled, 0U);
  const auto results = [&](const Graph& graph) {
    std::vector<std::vector<Tensor>> all;
    run_dataset(graph, *digits_.data, 1, 20,
                [&](std::size_t, std::vector<Tensor> outputs) { all.push_back(outputs); });
    return all;
  };
  EXPECT_EQ(results(shifts), results(integer("upward")));
}

TEST_F(PowerOfTwo, IsRequiredOfEditedScalesThatAreToBeShifted) {
  QuantizeResult result = quantized({"activations.power_of_two=true",
                                     "weights.power_of_two=true", "requantize.rounding=shift"});
  std::string edited;
  for (const QuantPoint& point : result.simulated.points) {
    if (point.role == Role::kWeight && edited.empty()) {
      edited = point.name;
    }
  }
  result.table.at(edited).params.scale.mutable_view()[0] *= 1.5F;
  for (const QuantPoint& point : result.simulated.points) {
    if (point.weight == edited) {
      result.table.at(point.name).params.scale.mutable_view()[0] *= 1.5F;
    }
  }
  EXPECT_THROW(lower(result.simulated, result.table), Error);
}

TEST(PowerOfTwoScale, OfValuesThatFillTheGridBeforeIsNoWider) {
  std::vector<float> values(256);
  std::iota(values.begin(), values.end(), 0.0F);
  const Graph model = parse(
      "graph \"g\" opset 17 (%x : f32[1,1,1,256]) -> (%y) {\n"
      "const %w : f32[1,1,1,1] = [1]\n"
      "%y = Conv(%x, %w) : f32[1,1,1,256]\n}");
  const SamplesInMemory data({{"x", Tensor::of<float>({1, 1, 1, 256}, values)}});
  const Config config =
      config_with({"activations.power_of_two=true", "calibration.schedule=sequential"});
  const QuantizeResult result = quantize(model, data, config, Toolkit::builtin());
  EXPECT_EQ(result.table.at("x").params.scale[0], 1);
  EXPECT_EQ(result.table.at("y").params.scale[0], 1);
}

TEST_F(PowerOfTwo, IsAskedForOfActivationsAndWeightsApart) {
  for (const Role role : {Role::kActivation, Role::kWeight}) {
    const std::string section = role == Role::kActivation ? "activations" : "weights";
    const QuantizeResult result = quantized({section + ".power_of_two=true"});
    for (const QuantPoint& point : result.simulated.points) {
      if (point.role != Role::kAccumulator) {
        EXPECT_EQ(are_powers_of_two(result.table.at(point.name).params.scale),
                  point.role == role)
            << point.name;
      }
    }
  }
}

TEST_F(PowerOfTwo, IsAskedForOfSingleLayers) {
  Config config;
  LayerRule& rule = config.layers.emplace_back();
  rule.op = "Gemm";
  rule.weights.power_of_two = true;
  const QuantizeResult result =
      quantize(digits_.model, *digits_.data, config, Toolkit::builtin());
  for (const QuantPoint& point : result.simulated.points) {
    if (point.role == Role::kWeight) {
      const bool asked = result.simulated.source.node(*point.reader).op == "Gemm";
      EXPECT_EQ(are_powers_of_two(result.table.at(point.name).params.scale), asked)
          << point.name;
    }
  }
}

}  // namespace
}  // namespace tare::test
