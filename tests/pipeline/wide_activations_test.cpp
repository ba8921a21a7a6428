// Activations of 16 bits: by layer and for a whole network, through files and back.
#include "tare/error.h"
#include "tare/execute.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"

#include "report/diagnose.h"
#include "support/config.h"
#include "support/difference.h"
#include "support/files/digits.h"
#include "support/files/folder.h"
#include "support/files/samples_in_memory.h"
#include "support/graphs.h"
#include "support/random/random.h"
#include "support/same_structure.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

LayerRule rule_for(const std::string& name, DType storage) {
  LayerRule rule;
  rule.name = name;
  rule.activations.storage = storage;
  return rule;
}

class WideActivations : public InFolder {
 protected:
  QuantizeResult quantized(const Config& config) const {
    return quantize(digits_.model, *digits_.data, config, Toolkit::builtin(), {.samples = 40});
  }
  QuantizeResult quantized(const std::vector<std::string>& settings) const {
    return quantized(config_with(settings));
  }
  Report report(const QuantizeResult& result) const {
    return compare_result(result, *digits_.data, Toolkit::builtin());
  }

  const Digits digits_;
};

/// Of activations, by the storage type that the table has for them.
std::map<std::string, DType> storage_of(const QuantizeResult& result) {
  std::map<std::string, DType> storage;
  for (const QuantPoint& point : result.simulated.points) {
    if (point.role == Role::kActivation) {
      storage.emplace(point.name, result.table.at(point.name).params.storage);
    }
  }
  return storage;
}

TEST_F(WideActivations, AreThoseOfOneLayerWhereARuleSaysSo) {
  const std::string layer = "/inverted2/depthwise/conv/Conv";
  for (const char* target : {"qnn", "ort-cpu"}) {
    Config config = config_with({std::string("target=") + target, "accuracy.slowdown=0"});
    config.layers = {rule_for(layer, DType::kUint16)};
    const QuantizeResult result = quantized(config);
    const Graph& source = result.simulated.source;
    const ValueId computed = source.node(*source.find_node(layer)).outputs[0];
    const Node& activation = source.node(source.users(computed).at(0));
    std::set<std::string> wide;
    for (const auto& [name, storage] : storage_of(result)) {
      if (storage == DType::kUint16) {
        wide.insert(name);
      } else {
        EXPECT_EQ(storage, DType::kUint8) << name;
      }
    }
    EXPECT_EQ(wide, std::set<std::string>{source.name(activation.outputs[0])});
    std::map<DType, int> sums;
    for (const AccumulatorRange& each : worst_case_accumulators(result.integer)) {
      ++sums[result.integer.type(result.integer.node(each.node).outputs[0]).dtype];
    }
    // The layer behind it reads 16 bits. Where kernels have one width, so does the layer
    // itself.
    EXPECT_EQ(sums[DType::kInt64], std::string(target) == "qnn" ? 2 : 1);
    EXPECT_GT(sums[DType::kInt32], 10);
  }
}

/// Which operators compute what a file stores in 16 bits.
std::vector<std::string> wide_results(const Graph& file) {
  std::vector<std::string> ops;
  for (const NodeId id : file.topological_order()) {
    const Node& node = file.node(id);
    if (node.op == "QuantizeLinear" && size_of(file.type(node.outputs[0]).dtype) == 2) {
      const auto producer = file.producer(node.inputs[0]);
      ops.push_back(producer ? file.node(*producer).op : "input");
    }
  }
  return ops;
}

TEST_F(WideActivations, OfOneLayerAreThoseOfItsResultInTheFile) {
  LayerRule by_operator = rule_for("/features/*", DType::kUint16);
  by_operator.op = "Conv";
  for (const LayerRule& rule : {rule_for("/features/Conv", DType::kUint16), by_operator,
                                rule_for("/act/Relu", DType::kUint16)}) {
    Config config = config_with({"target=qnn", "accuracy.slowdown=0"});
    config.layers = {rule};
    const QuantizeResult result = quantized(config);
    write_onnx(export_form(result.integer, Form::kQdq, result.simulated.target),
               path("q.onnx"));
    EXPECT_EQ(wide_results(load_model(path("q.onnx"), {}, nullptr)),
              (std::vector<std::string>{"DequantizeLinear", "Conv", "GlobalAveragePool"}))
        << rule.name << ": what it computes, and its Relu, which saturation replaces; "
        << "kernels of one width want what it reads and what the next one computes, too";
  }
}

/// A convolution whose weights are whole steps of a power of two, so that only activations and
/// the bias are rounded.
struct ExactWeights {
  static constexpr std::int64_t kChannels = 4;

  Graph graph;
  Tensor samples{DType::kFloat32, {6, 3, 8, 8}};
  double gain = 0;  ///< the largest sum of magnitudes of the weights of a channel

  ExactWeights() {
    Random random(5);
    for (float& x : samples.mutable_view<float>()) {
      x = static_cast<float>(random.integer(-1000, 1000)) / 1024;
    }
    std::vector<float> weights(kChannels * 3 * 9);
    std::array<double, kChannels> sums{};
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const bool is_first = i % 27 == 0;
      weights[i] = static_cast<float>(is_first ? 127 : random.integer(-127, 127)) / 128;
      sums[i / 27] += std::abs(static_cast<double>(weights[i]));
    }
    gain = *std::max_element(sums.begin(), sums.end());
    const ValueId x = graph.add_input("x", f32({1, 3, 8, 8}));
    const ValueId w = graph.add_constant("w", Tensor::of<float>({kChannels, 3, 3, 3}, weights));
    const ValueId b =
        graph.add_constant("b", Tensor::of<float>({kChannels}, {0.3F, -1.7F, 0.01F, 5}));
    const ValueId y = add(graph, "Conv", {x, w, b}, {1, kChannels, 8, 8},
                          {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
    graph.set_outputs({add(graph, "Relu", {y}, {1, kChannels, 8, 8})});
  }
};

TEST(WideActivation, IsHalfAStepFromTheRealValueAndSoIsWhatIsComputedOfIt) {
  const ExactWeights net;
  const SamplesInMemory data({{"x", net.samples}});
  for (const char* storage : {"int16", "uint16"}) {
    for (const char* symmetric : {"true", "false"}) {
      const Config config = config_with(
          {"objective=coverage", "activations.calibrator=max", "accuracy.rounding=nearest",
           "accuracy.bias_correction=false", "accuracy.equalization=none",
           std::string("activations.storage=") + storage,
           std::string("activations.symmetric=") + symmetric});
      const QuantizeResult result = quantize(net.graph, data, config, Toolkit::builtin());
      const QuantParams& x = result.table.at("x").params;
      const QuantParams& y = result.table.at(net.graph.name(net.graph.outputs()[0])).params;
      const QuantParams& w = result.table.at("w").params;
      EXPECT_EQ(w.scale, std::vector<float>(ExactWeights::kChannels, 0x1p-7F));
      // Half a step of each rounding, and what float32 adds to numbers of up to `gain`.
      const double half_x = static_cast<double>(x.scale[0]) / 2;
      const double half_y = static_cast<double>(y.scale[0]) / 2;
      const double most = net.gain * half_x + half_x * 0x1p-7 + half_y + net.gain * 0x1p-22;
      EXPECT_LT(most, 2e-3);
      double largest = 0;
      run_dataset(result.integer, data, 1, 0, [&](std::size_t i, std::vector<Tensor> outputs) {
        const std::vector<Tensor> sample{net.samples.rows(static_cast<std::int64_t>(i), 1)};
        const auto expected = Executable(net.graph).run(sample)[0].to_double();
        const auto actual = outputs[0].to_double();
        for (std::size_t k = 0; k < actual.size(); ++k) {
          largest = std::max(largest, std::abs(actual[k] - expected[k]));
        }
      });
      EXPECT_LE(largest, most) << storage << " symmetric " << symmetric;
      EXPECT_GT(largest, 0);
    }
  }
}

TEST_F(WideActivations, LoseLessThanHalfAStepWhereNothingSaturatesWithEveryConstraint) {
  for (const char* constraint : {"activations.symmetric=true", "activations.symmetric=false",
                                 "activations.power_of_two=true"}) {
    const Report found = report(quantized({"target=qnn", "activations.storage=uint16",
                                           "activations.calibrator=max", constraint}));
    ASSERT_GT(found.points.size(), 10U);
    for (const PointReport& point : found.points) {
      ASSERT_EQ(point.params.storage, DType::kUint16) << point.name;
      // Samples that were not calibrated on may leave the range.
      const bool saturates = point.saturated.low + point.saturated.high > 0;
      const double half = static_cast<double>(point.params.scale[0]) / 2;
      if (!saturates && point.error.mse) {
        EXPECT_LE(*point.error.mse, half * half * 1.001) << point.name << " " << constraint;
      }
    }
  }
}

TEST_F(WideActivations, AreNoReasonToComplainOfSumsThatLeave32Bits) {
  Report found = report(quantized({"target=qnn", "activations.storage=uint16"}));
  diagnose(found);
  for (const Diagnosis& each : found.diagnoses) {
    EXPECT_NE(each.kind, "accumulator") << each.text;
  }
}

TEST_F(WideActivations, LeaveWeightsAsTheOnlyLoss) {
  const auto mse = [&](const char* storage) {
    const Report found = report(quantized({"target=qnn", std::string(storage)}));
    return *found.outputs.at(0).error.mse;
  };
  EXPECT_LT(mse("activations.storage=uint16"), 0.5 * mse("activations.storage=uint8"));
}

TEST_F(WideActivations, AreChosenByEveryCalibrator) {
  for (const std::string& name : Toolkit::builtin().calibrator_names()) {
    if (name == "fixed" || name == "auto") {
      continue;  // needs a range; tries the others
    }
    const auto mse = [&](const char* storage) {
      const std::vector<std::string> settings{"target=qnn", std::string(storage),
                                              "activations.calibrator=" + name};
      return *report(quantized(settings)).outputs.at(0).error.mse;
    };
    // What a calibrator cuts off is lost with any type, and the coarser steps of 8 bits reach
    // up to one of them further.
    EXPECT_LT(mse("activations.storage=uint16"), 1.25 * mse("activations.storage=uint8"))
        << name;
  }
}

TEST_F(WideActivations, AreSimulatedAsTheIntegerGraphComputes) {
  const QuantizeResult result = quantized({"target=qnn", "activations.storage=uint16"});
  const Results integer = results_of(result.integer, *digits_.data, 40);
  const Results simulated =
      results_of(tare::bind(result.simulated, result.table), *digits_.data, 40);
  // Simulated sums are float32, off by less than a step of 16 bits each, 2^-16 of a range, in
  // 20 layers one after the other.
  EXPECT_LE(distance(integer, simulated), 20 * 0x1p-16);
}

TEST_F(WideActivations, ReadBackFromEveryForm) {
  Config mixed = config_with({"target=qnn"});
  mixed.layers = {rule_for("/inverted*", DType::kUint16)};
  for (const Config& config :
       {config_with({"activations.storage=int16"}),
        config_with({"target=qnn", "activations.storage=uint16"}), mixed}) {
    const QuantizeResult q = quantized(config);
    EXPECT_EQ(parse(print(q.integer)), q.integer);
    for (const Form form : {Form::kQdq, Form::kQoperator, Form::kInteger}) {
      write_onnx(export_form(q.integer, form, q.simulated.target), path("q.onnx"));
      const Graph read = load_model(path("q.onnx"), {}, nullptr);
      EXPECT_GE(read.opset, form == Form::kInteger ? 13 : 21);
      const Graph again = lower_quantized(read, {}, Toolkit::builtin());
      EXPECT_EQ(structural_difference(q.integer, again), "") << static_cast<int>(form);
    }
  }
}

TEST_F(WideActivations, ReadBackFromATable) {
  const Config config = config_with({"target=qnn", "activations.storage=uint16"});
  const QuantizeResult first = quantized(config);
  write_table(path("table.yaml"), first);
  const QuantizeResult second =
      quantize(digits_.model, TableFile(path("table.yaml")), config, Toolkit::builtin());
  EXPECT_EQ(second.integer, first.integer);
}

std::size_t count_wide(const QuantizeResult& result) {
  const auto storage = storage_of(result);
  return static_cast<std::size_t>(
      std::count_if(storage.begin(), storage.end(),
                    [](const auto& entry) { return entry.second == DType::kUint16; }));
}

TEST_F(WideActivations, AreChosenBySensitivityWhereNothingMayBeInFloat) {
  const QuantizeResult none = quantized({"target=qnn", "accuracy.slowdown=0"});
  const QuantizeResult some = quantized({"target=qnn"});
  const QuantizeResult many = quantized({"target=qnn", "accuracy.slowdown=1"});
  EXPECT_EQ(count_wide(none), 0U);
  EXPECT_GT(count_wide(some), 0U);
  EXPECT_GT(count_wide(many), count_wide(some));
  EXPECT_LT(count_wide(many), storage_of(many).size()) << "weights have errors of their own";
  const auto mse = [&](const QuantizeResult& result) {
    return *report(result).outputs.at(0).error.mse;
  };
  EXPECT_LT(mse(some), mse(none));
  EXPECT_LT(mse(many), mse(some));
  for (const char* setting :
       {"accuracy.effort=fast", "target=ort-cpu", "objective=latency",
        "activations.storage=uint8", "activations.bits=8", "activations.bits=7"}) {
    EXPECT_EQ(count_wide(quantized({"target=qnn", setting})), 0U) << setting;
  }
}

TEST_F(WideActivations, AreComparedBehindTheActivationThatTheyComeBefore) {
  // Results of 8 bits that are computed in 16 saturate where the Clip does, but a step of 16
  // bits later.
  Config config = config_with({"target=qnn", "accuracy.slowdown=0"});
  config.layers = {rule_for("/inverted?/expand/conv/Conv", DType::kUint16)};
  Report found = report(quantized(config));
  diagnose(found);
  for (const Diagnosis& each : found.diagnoses) {
    EXPECT_NE(each.kind, "saturation") << each.text;
  }
}

TEST_F(WideActivations, ThatWereChosenLeaveLayersAsARuleSays) {
  const std::string layers = "*Conv";
  Config config = config_with({"target=qnn", "accuracy.slowdown=1"});
  const auto wide_results = [&] {  // of convolutions, behind a Clip
    const auto storage = storage_of(quantized(config));
    return std::count_if(storage.begin(), storage.end(), [](const auto& each) {
      return each.first.find("Clip") != std::string::npos && each.second == DType::kUint16;
    });
  };
  ASSERT_GT(wide_results(), 0);
  config.layers = {rule_for(layers, DType::kUint8)};
  EXPECT_EQ(wide_results(), 0);
  config.layers = {{.name = layers, .activations = {.bits = 6}}};
  EXPECT_EQ(wide_results(), 0);
}

TEST_F(WideActivations, ThatWereChosenReadBackFromFilesAndTables) {
  const Config config = config_with({"target=qnn", "accuracy.slowdown=0.5"});
  const QuantizeResult first = quantized(config);
  const Graph file = export_form(first.integer, Form::kQdq, first.simulated.target);
  write_onnx(file, path("q.onnx"));
  const Graph again =
      lower_quantized(load_model(path("q.onnx"), {}, nullptr), {}, Toolkit::builtin());
  EXPECT_EQ(structural_difference(first.integer, again), "");
  EXPECT_TRUE(lint(file, first.simulated.target).empty());
  write_table(path("table.yaml"), first);
  const QuantizeResult second =
      quantize(digits_.model, TableFile(path("table.yaml")), config, Toolkit::builtin());
  EXPECT_EQ(second.integer, first.integer);
}

TEST_F(WideActivations, AreSaidToRunInFloatWhereTheyDo) {
  const QuantizeResult here = quantized({"activations.storage=int16"});
  EXPECT_TRUE(
      std::any_of(here.audit.warnings.begin(), here.audit.warnings.end(),
                  [](const Warning& warning) { return warning.kind == "wide_activations"; }));
  std::size_t convolutions = 0;
  for (const Verdict& verdict :
       verdicts(export_form(here.integer, Form::kQdq, here.simulated.target),
                here.simulated.target)) {
    if (verdict.op == "Conv") {
      ++convolutions;
      EXPECT_EQ(verdict.because, "the target computes on 16-bit values in float");
    }
  }
  EXPECT_GT(convolutions, 10U);
  const QuantizeResult there = quantized({"target=qnn", "activations.storage=uint16"});
  for (const KeptFloat& kept : there.simulated.kept_float) {
    ADD_FAILURE() << kept.node << " " << kept.reason;
  }
  const Graph file = export_form(there.integer, Form::kQdq, there.simulated.target);
  for (const Verdict& verdict : verdicts(file, there.simulated.target)) {
    EXPECT_EQ(verdict.because, "") << verdict.node;
  }
  for (const LintFinding& finding : lint(file, there.simulated.target)) {
    ADD_FAILURE() << finding.node << " " << finding.rule << " " << finding.what;
  }
  for (const Verdict& verdict : verdicts(file, read_target("tensorrt"))) {
    if (verdict.op == "Conv") {
      EXPECT_EQ(verdict.because, "the target has no activations of 16 bits");
    }
  }
}

TEST_F(WideActivations, AreRefusedWhereTheTargetOrTheOperandHasNone) {
  Config config = config_with({"target=tensorrt", "activations.storage=int16"});
  config.layers = {rule_for("*", DType::kUint16)};
  EXPECT_EQ(message_of([&] { (void)quantized(config); }, ErrorCode::kInvalidConfig),
            "activations.storage: the target 'tensorrt' has no activations of this type, "
            "expected int8 or uint8\n"
            "layers[0].activations.storage: the target 'tensorrt' has no activations of this "
            "type, expected int8 or uint8\n  while simulating");
  EXPECT_EQ(message_of(
                [&] {
                  (void)quantized({"target=qnn", "activations.storage=int16"});
                },
                ErrorCode::kInvalidConfig),
            "activations.storage: the target 'qnn' has no activations of this type, expected "
            "int8, uint8 or uint16\n  while simulating");
  EXPECT_NE(message_of([] { (void)config_with({"weights.storage=int16"}); },
                       ErrorCode::kInvalidConfig)
                .find("'storage' is 'int16', expected auto, int8 or uint8"),
            std::string::npos);
}

TEST_F(WideActivations, KeepToAStatedAccumulator) {
  const QuantizeResult result =
      quantized({"target=qnn", "activations.storage=uint16", "accumulator.bits=24",
                 "accumulator.avoid_overflow=true"});
  std::size_t products = 0;
  for (const AccumulatorRange& sums : worst_case_accumulators(result.integer)) {
    const Node& node = result.integer.node(sums.node);
    EXPECT_EQ(result.integer.type(node.outputs[0]).dtype, DType::kInt32) << node.name;
    EXPECT_TRUE(sums.range.fits({.bits = 24})) << node.name;
    ++products;
  }
  EXPECT_GT(products, 10U);
}

TEST_F(WideActivations, HaveSumsThatTheSamplesAreObservedToNeed) {
  const QuantizeResult result = quantized({"target=qnn", "activations.storage=uint16"});
  const auto worst_case = worst_case_accumulators(result.integer);
  const auto observed = observed_accumulators(result.integer, *digits_.data, 1, 10, {});
  ASSERT_EQ(observed.size(), worst_case.size());
  for (std::size_t i = 0; i < observed.size(); ++i) {
    EXPECT_GE(observed[i].range.low, worst_case[i].range.low);
    EXPECT_LE(observed[i].range.high, worst_case[i].range.high);
    EXPECT_GT(observed[i].range.bits(), 16);
  }
}

TEST_F(WideActivations, LeaveWeightsTheirScalesForSumsThatNeedMoreThan32Bits) {
  constexpr std::int64_t kTerms = 4096;  // of 2^16 * 127 each: 35 bits
  const Tensor ones = Tensor::of<float>({kTerms, 1}, std::vector<float>(kTerms, 1.0F));
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, kTerms}));
  graph.set_outputs({add(graph, "MatMul", {x, graph.add_constant("w", ones)}, {1, 1})});
  const SamplesInMemory data(
      {{"x", Tensor::of<float>({2, kTerms}, std::vector<float>(2 * kTerms, 1.0F))}});
  const QuantizeResult result = quantize(
      graph, data,
      config_with({"target=qnn", "activations.storage=uint16", "accuracy.rounding=nearest"}),
      Toolkit::builtin());
  EXPECT_EQ(result.table.at("w").params.scale[0], 1.0F / 127);
  const auto y = Executable(result.integer).run(std::vector<Tensor>{data.read("x", 0, 1)});
  // At most a step of the operand and one of the result.
  EXPECT_NEAR(y[0].to_float()[0], kTerms, kTerms * 0x1p-15);
}

}  // namespace
}  // namespace tare::test
