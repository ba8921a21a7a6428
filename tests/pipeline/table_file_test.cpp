
#include "tare/execute.h"
#include "tare/model_files.h"

#include "calibrate/rounding/accumulators.h"
#include "lower/forms/forms.h"
#include "lower/lower.h"
#include "support/config.h"
#include "support/difference.h"
#include "support/files/digits.h"
#include "support/files/files.h"
#include "support/files/folder.h"
#include "support/files/samples_in_memory.h"
#include "support/random/random_network.h"
#include "support/simulated.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace tare::test {
namespace {

/// Any parameters that a table may hold, with what follows from them.
QuantTable random_table(const SimulatedGraph& simulated, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](int end) {
    return static_cast<int>(random() % static_cast<unsigned>(end));
  };
  const auto real = [&] {
    return std::ldexp(static_cast<float>(random() | 1U) * 0x1p-32F, below(24) - 12);
  };
  const auto range = [&] {
    return Range{-static_cast<double>(real()), static_cast<double>(real())};
  };
  QuantTable table;
  std::vector<const QuantPoint*> accumulators;
  for (const QuantPoint& point : simulated.points) {
    PointResult& result = table[point.name];
    result.enabled = below(4) != 0;
    if (point.role == Role::kAccumulator) {
      accumulators.push_back(&point);
      continue;
    }
    const bool per_axis = point.spec.granularity == Granularity::kPerAxis;
    const auto axis = static_cast<std::size_t>(point.spec.axis);
    const std::int64_t channels = per_axis ? simulated.source.type(point.value).shape[axis] : 1;
    const bool is_signed = below(2) == 0;
    result.params = {.storage = is_signed ? DType::kInt8 : DType::kUint8,
                     .scale = {},
                     .zero_point = {},
                     .axis = per_axis ? std::optional(point.spec.axis) : std::nullopt,
                     .narrow_range = below(2) == 0,
                     .bits = point.role == Role::kWeight && below(2) == 0 ? 8 : 0};
    const std::int32_t zero = 1 + below(100);
    for (std::int64_t c = 0; c < channels; ++c) {
      result.params.scale.push_back(real());
      result.params.zero_point.push_back(below(2) == 0 ? zero : 1 + below(100));
      result.observed.push_back(range());
      result.calibrated.push_back(range());
    }
    if (below(2) == 0) {
      result.clipped = Clipped{static_cast<double>(real() * 0x1p-12F), 0};
      result.widened_channels = {0, below(100)};
    }
    if (point.role == Role::kWeight && below(2) == 0) {
      std::vector<std::int8_t> rounding(
          static_cast<std::size_t>(element_count(simulated.source.type(point.value).shape)));
      std::generate(rounding.begin(), rounding.end(),
                    [&] { return static_cast<std::int8_t>(below(3) - 1); });
      result.rounding = rounding;
    }
    result.calibrator = below(2) == 0 ? "max" : "mine: \"#1\"";
    result.elements = random();
  }
  for (const NodeId id : simulated.graph.nodes()) {
    const Node& node = simulated.graph.node(id);
    const TensorType& type = simulated.graph.type(node.outputs[0]);
    const QuantPoint* point = simulated.find(type.point);
    if (node.op == "SimulatedQuantize" && point->role == Role::kAccumulator && below(3) != 0) {
      std::vector<float> correction(static_cast<std::size_t>(type.shape[0]));
      std::generate(correction.begin(), correction.end(), real);
      table.at(type.point).bias_correction = correction;
    }
  }
  derive_accumulators(simulated, accumulators, {}, table);
  return table;
}

class Table : public InFolder {
 protected:
  void write(const SimulatedGraph& simulated, const QuantTable& table,
             const CalibrationAudit& audit) const {
    QuantizeResult result;
    result.simulated = simulated;
    result.table = table;
    result.audit = audit;
    write_table(path("t.yaml"), result);
  }
  QuantTable read(const SimulatedGraph& simulated) const {
    return TableFile(path("t.yaml")).table(simulated);
  }
};

TEST_F(Table, IsReadBackAsItWasWritten) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    const SimulatedGraph simulated =
        simulated_with(prepare(random_network(random, 20), Toolkit::builtin()));
    const QuantTable table = random_table(simulated, seed);
    write(simulated, table, {.samples = seed, .data = seed * 77777, .warnings = {}});
    const std::string first = bytes_of(path("t.yaml"));
    CalibrationAudit audit;
    const QuantTable again = TableFile(path("t.yaml")).table(simulated, &audit);
    EXPECT_EQ(again, table) << seed;
    EXPECT_EQ(audit.samples, seed);
    EXPECT_EQ(audit.data, seed * 77777);
    write(simulated, again, audit);
    EXPECT_EQ(bytes_of(path("t.yaml")), first);
  }
}

TEST_F(Table, GivesTheSameModelToTheLastByte) {
  const Digits digits;
  for (const char* calibrator : {"max", "kl"}) {
    for (const Schedule schedule : {Schedule::kSequential, Schedule::kIndependent}) {
      Config config;
      config.activations.calibrator.name = calibrator;
      config.schedule = schedule;
      const QuantizeResult first =
          quantize(digits.model, *digits.data, config, Toolkit::builtin(), {.samples = 20});
      write_table(path("t.yaml"), first);
      const TableFile file(path("t.yaml"));
      EXPECT_EQ(file.inputs(), (std::map<std::string, Shape>{{"image", {1, 16, 16}}}));
      const QuantizeResult second = quantize(digits.model, file, config, Toolkit::builtin());
      write_onnx(to_qdq(first.integer), path("first.onnx"));
      write_onnx(to_qdq(second.integer), path("second.onnx"));
      EXPECT_TRUE(bytes_of(path("first.onnx")) == bytes_of(path("second.onnx"))) << calibrator;
      EXPECT_EQ(second.audit.samples, 20U);
      EXPECT_EQ(second.audit.data, first.audit.data);
    }
  }
}

TEST_F(Table, OfAnyParametersMakesAModel) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    Random random(seed);
    const SimulatedGraph simulated =
        simulated_with(prepare(random_network(random, 20), Toolkit::builtin()));
    write(simulated, random_table(simulated, seed), {});
    const QuantTable table = read(simulated);
    EXPECT_NO_THROW((void)to_qdq(lower(simulated, table))) << seed;
    EXPECT_NO_THROW((void)tare::bind(simulated, table)) << seed;
  }
}

/// Text of a table of the digits network.
class DigitsTable : public InFolder {
 protected:
  DigitsTable() {
    const QuantizeResult result =
        quantize(digits_.model, *digits_.data, {}, Toolkit::builtin(), {.samples = 20});
    write_table(path("t.yaml"), result);
    text_ = bytes_of(path("t.yaml"));
  }

  /// Of what is written with the first `from` after the name of that point replaced.
  QuantizeResult result_with(const std::string& point, const std::string& from,
                             const std::string& to) const {
    std::string text = text_;
    text.replace(text.find(from, text.find("name: \"" + point + "\"")), from.size(), to);
    write_bytes(path("t.yaml"), text);
    return quantize(digits_.model, TableFile(path("t.yaml")), {}, Toolkit::builtin());
  }

  static int float_convolutions(const Graph& graph) {
    const std::vector<NodeId> nodes = graph.nodes();
    return static_cast<int>(std::count_if(nodes.begin(), nodes.end(), [&](NodeId id) {
      const Node& node = graph.node(id);
      return node.op == "Conv" && graph.type(node.outputs[0]).dtype == DType::kFloat32;
    }));
  }

  const Digits digits_;
  std::string text_;
};

TEST_F(DigitsTable, OfANetworkWithAScalarInputIsReadBack) {
  const Graph model = parse(
      "graph \"g\" opset 17 (%x : f32[1,2], %s : f32[]) -> (%y) {\n"
      "const %w : f32[2,2] = [1, 0.5, -0.25, 1]\n%a = MatMul(%x, %w) : f32[1,2]\n"
      "%y = Mul(%a, %s) : f32[1,2]\n}");
  std::map<std::string, Tensor> values;
  values.emplace("x", Tensor(DType::kFloat32, {8, 2}));
  values.emplace("s", Tensor(DType::kFloat32, {8}));
  for (auto& [name, tensor] : values) {
    for (float& value : tensor.mutable_view<float>()) {
      value = 0.5F;
    }
  }
  const SamplesInMemory data(std::move(values));
  const Config config = config_with({"objective=coverage"});
  const QuantizeResult made = quantize(model, data, config, Toolkit::builtin());
  write_table(path("t.yaml"), made);
  const TableFile table(path("t.yaml"));
  EXPECT_EQ(table.inputs(), (std::map<std::string, Shape>{{"s", {}}, {"x", {2}}}));
  EXPECT_EQ(quantize(model, table, config, Toolkit::builtin()).integer, made.integer);
}

TEST_F(DigitsTable, ThatDisablesAPointLeavesItsRegionInFloat) {
  const QuantizeResult all = result_with("image", "enabled: true", "enabled: true");
  EXPECT_EQ(float_convolutions(all.integer), 0);
  const QuantizeResult one =
      result_with("residual1.conv1.conv.weight", "enabled: true", "enabled: false");
  EXPECT_EQ(float_convolutions(one.integer), 1);
  EXPECT_GT(sqnr(one.prepared, one.integer, *digits_.data, 20),
            sqnr(all.prepared, all.integer, *digits_.data, 20) - 3);
}

TEST_F(DigitsTable, WithAnotherScaleMeansTheSameToSimulationAndIntegers) {
  // More than twice the step: the network gets worse but stays itself.
  const QuantizeResult result =
      result_with("/stem/act/Relu_output_0", "scale: 0.0", "scale: 0.04");
  EXPECT_GT(sqnr(result.prepared, result.integer, *digits_.data, 20), 10);
  EXPECT_GT(sqnr(tare::bind(result.simulated, result.table), result.integer, *digits_.data, 20),
            sqnr(result.prepared, result.integer, *digits_.data, 20) + 10);
}

}  // namespace
}  // namespace tare::test
