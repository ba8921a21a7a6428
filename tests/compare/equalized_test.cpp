
#include "tare/execute.h"

#include "support/difference.h"
#include "support/unlike_channels.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// All that a graph makes of one of its values on all samples, as real values.
std::vector<float> values_of(const Graph& graph, ValueId value, const Dataset& data) {
  ExecuteOptions options;
  options.observe = {value};
  options.precise = true;
  const Executable executable(graph, options);
  Executable::Workspace workspace(executable);
  std::vector<float> result;
  for (std::size_t sample = 0; sample < data.size(); ++sample) {
    const std::vector<Tensor> inputs{data.read("x", sample, 1)};
    executable.run(workspace, inputs, [&](std::size_t, const TensorView& view) {
      const auto& quant = view.type->quant;
      const std::vector<float> own =
          quant ? dequantize(view.tensor(), *quant).to_float() : view.tensor().to_float();
      result.insert(result.end(), own.begin(), own.end());
    });
  }
  return result;
}

const LayerReport& layer_of(const Report& report, const std::string& name) {
  return *std::find_if(report.layers.begin(), report.layers.end(),
                       [&](const LayerReport& layer) { return layer.name == name; });
}

// On samples that go beyond those that it was calibrated on.
TEST(EqualizedReports, StateTheErrorAgainstTheFloatModelThatWasGiven) {
  for (const std::optional<float> bound : {std::optional<float>(), std::optional(128.0F)}) {
    const UnlikeChannels network(0x1p-4F, 0x1p4F, 1, bound);
    const QuantizeResult result = network.quantized(UnlikeChannels::config());
    Tensor values = network.data.read("x", 0, UnlikeChannels::kSamples);
    for (float& value : values.mutable_view<float>()) {
      value *= 3;
    }
    const SamplesInMemory data({{"x", values}});
    const double wanted = sqnr(values_of(network.graph, network.graph.outputs()[0], data),
                               values_of(result.integer, result.integer.outputs()[0], data));
    const Report report = compare_result(result, data, Toolkit::builtin());
    EXPECT_NEAR(report.outputs[0].error.sqnr.value(), wanted, 1e-3);
    const Report of_file = compare_models({.real = network.graph,
                                           .quantized = export_form(result.integer, Form::kQdq),
                                           .factors = result.factors,
                                           .numerics = {}},
                                          data, UnlikeChannels::config(), Toolkit::builtin());
    EXPECT_NEAR(of_file.outputs[0].error.sqnr.value(), wanted, 1e-3);
  }
}

// Whatever a file says that its channels were divided by.
TEST(EqualizedReports, AreOfTheFloatModelWithAnyFactors) {
  const UnlikeChannels network(0x1p-4F, 0x1p4F, 1, 128.0F);
  Config config = UnlikeChannels::config();
  config.equalization = false;
  const QuantizeResult result = network.quantized(config);
  const auto report = [&](const ChannelFactors& factors) {
    return compare_models({.real = network.graph,
                           .quantized = export_form(result.integer, Form::kQdq),
                           .factors = factors,
                           .numerics = {}},
                          network.data, config, Toolkit::builtin());
  };
  const ChannelFactors any{
      {UnlikeChannels::kFirst, std::vector<float>(UnlikeChannels::kChannels, 0x1p-6F)}};
  EXPECT_EQ(report(any).outputs[0].error.sqnr, report({}).outputs[0].error.sqnr);
}

// Errors of a channel that was blown up count as they are in the float network.
TEST(EqualizedReports, HoldLayersAgainstThoseOfTheFloatModel) {
  const UnlikeChannels network(0x1p-4F, 0x1p4F);
  const QuantizeResult result = network.quantized(UnlikeChannels::config());
  const std::vector<float>& factors = result.factors.at(UnlikeChannels::kFirst);
  const std::vector<float> exact =
      values_of(network.graph, network.graph.find_value("Relu").value(), network.data);
  const auto rounded = result.integer.values();
  const auto storage = std::find_if(rounded.begin(), rounded.end(), [&](ValueId value) {
    const TensorType& type = result.integer.type(value);
    return type.quant && type.point == "Relu";
  });
  ASSERT_NE(storage, rounded.end());
  std::vector<float> restored = values_of(result.integer, *storage, network.data);
  for (std::size_t i = 0; i < restored.size(); ++i) {
    restored[i] *= factors[i / (6 * 6) % factors.size()];
  }
  const Report report = compare_result(result, network.data, Toolkit::builtin());
  const LayerReport& first = layer_of(report, UnlikeChannels::kFirst);
  EXPECT_EQ(first.result, "Relu");
  EXPECT_NEAR(first.cumulative->sqnr.value(), sqnr(exact, restored), 1e-3);
  // The network's input is all that its error comes of.
  EXPECT_NEAR(first.local->sqnr.value(), first.cumulative->sqnr.value(), 1e-3);
}

}  // namespace
}  // namespace tare::test
