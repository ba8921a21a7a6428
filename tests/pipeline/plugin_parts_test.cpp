// Plug-ins of every kind beside patterns, rules, calibrators and metrics: rows of the
// allow-list, operators for exported files, lint rules and findings.
#include "tare/error.h"
#include "tare/execute.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"
#include "tare/quantize.h"

#include "support/files/digits.h"
#include "support/files/files.h"
#include "support/files/folder.h"
#include "support/files/samples_in_memory.h"
#include "support/graphs.h"
#include "support/random/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

class PartsOfPlugins : public InFolder {
 protected:
  PartsOfPlugins() { load_plugins({TARE_TEST_EVERY_KIND}, toolkit_); }

  Toolkit toolkit_ = Toolkit::builtin();
};

/// A convolution of five channels, arc tangents, and another convolution.
Graph with_arc_tangents() {
  Random random(3);
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 3, 6, 6}));
  const ValueId w = graph.add_constant("w", random.tensor({5, 3, 3, 3}));
  const ValueId v = graph.add_constant("v", random.tensor({8, 5, 1, 1}));
  const ValueId a = add(graph, "Conv", {x, w}, {1, 5, 4, 4});
  const ValueId t = add(graph, "Atan", {a}, {1, 5, 4, 4});
  graph.set_outputs({add(graph, "Conv", {t, v}, {1, 8, 4, 4})});
  return graph;
}

SamplesInMemory some_images() {
  Random random(4);
  return SamplesInMemory({{"x", random.tensor({6, 3, 6, 6})}});
}

Config coverage_on(const std::string& target) {
  Config config;
  config.target = target;
  config.objective = Objective::kCoverage;
  return config;
}

const TensorType& type_after(const Graph& graph, std::string_view op) {
  for (const NodeId id : graph.nodes()) {
    if (graph.node(id).op == op) {
      return graph.type(graph.node(id).outputs[0]);
    }
  }
  throw Error(ErrorCode::kInternal, "test", "no such operator");
}

TEST_F(PartsOfPlugins, RowsLetOperatorsRunOnStorageValues) {
  const SamplesInMemory data = some_images();
  const QuantizeResult with = quantize(with_arc_tangents(), data, coverage_on("qnn"), toolkit_);
  const QuantizeResult without =
      quantize(with_arc_tangents(), data, coverage_on("qnn"), Toolkit::builtin());
  EXPECT_TRUE(type_after(with.integer, "Atan").quant.has_value());
  EXPECT_FALSE(type_after(without.integer, "Atan").quant.has_value());

  // On each of the 256 storage values the table has what the formula says.
  Graph alone;
  const auto& row = with.integer;
  for (const NodeId id : row.nodes()) {
    const Node& node = row.node(id);
    if (node.op == "Atan") {
      const TensorType in{.dtype = DType::kUint8,
                          .shape = {1, 256},
                          .quant = row.type(node.inputs[0]).quant,
                          .point = {}};
      const TensorType out{.dtype = DType::kUint8,
                           .shape = {1, 256},
                           .quant = row.type(node.outputs[0]).quant,
                           .point = {}};
      const ValueId x = alone.add_input("x", in);
      const NodeId atan = alone.add_node("y", "Atan", {x}, {{"y", out}});
      alone.set_outputs({alone.node(atan).outputs[0]});
      alone.affine_rows = row.affine_rows;
      std::vector<std::uint8_t> all(256);
      std::vector<std::uint8_t> expected(256);
      for (int q = 0; q < 256; ++q) {
        all[static_cast<std::size_t>(q)] = static_cast<std::uint8_t>(q);
        const float real = in.quant->scale[0] * static_cast<float>(q - in.quant->zero_point[0]);
        const float steps = std::nearbyint(std::atan(real) / out.quant->scale[0]) +
                            static_cast<float>(out.quant->zero_point[0]);
        expected[static_cast<std::size_t>(q)] =
            static_cast<std::uint8_t>(std::clamp(steps, 0.0F, 255.0F));
      }
      const Tensor y = Executable(alone).run(
          std::vector<Tensor>{Tensor::of<std::uint8_t>({1, 256}, all)})[0];
      EXPECT_EQ(y.to_int64(), Tensor::of<std::uint8_t>({1, 256}, expected).to_int64());
    }
  }
  EXPECT_FALSE(alone.inputs().empty());
}

TEST_F(PartsOfPlugins, RowsOfTheTreeGiveTheSameFilesFromOutside) {
  const Digits digits;
  Toolkit outside = Toolkit::builtin();
  std::vector<AffineOp> moved;
  std::erase_if(outside.affine_ops, [&](const AffineOp& row) {
    const bool moves = row.op == "MaxPool" || row.op == "Concat" || row.op == "Relu";
    if (moves) {
      moved.push_back(row);
    }
    return moves;
  });
  outside.affine_ops.insert(outside.affine_ops.end(), moved.begin(), moved.end());
  for (const std::string& target : target_names()) {
    write_model(
        quantize(digits.model, *digits.data, coverage_on(target), outside, {.samples = 8}),
        path("outside.onnx"));
    write_model(quantize(digits.model, *digits.data, coverage_on(target), Toolkit::builtin(),
                         {.samples = 8}),
                path("inside.onnx"));
    EXPECT_EQ(bytes_of(path("outside.onnx")), bytes_of(path("inside.onnx"))) << target;
  }
}

TEST_F(PartsOfPlugins, ExportedOperatorsStandInFilesAndRunHere) {
  const SamplesInMemory data = some_images();
  for (const Form form : {Form::kQdq, Form::kQoperator}) {
    const QuantizeResult result =
        quantize(with_arc_tangents(), data, coverage_on("qnn"), toolkit_);
    write_model(result, path("q.onnx"), form, toolkit_);
    const Graph read = load_model(path("q.onnx"), {}, nullptr);
    int units = 0;
    for (const NodeId id : read.nodes()) {
      const Node& node = read.node(id);
      if (node.op == "Region") {
        ++units;
        EXPECT_EQ(node.attributes.text("domain"), "com.example");
        EXPECT_EQ(node.attributes.text("op_type"), "ConvUnit");
        EXPECT_EQ(node.attributes.text("unit"), "conv_unit");
        EXPECT_FALSE(node.attributes.integers("shifts").empty());
      }
    }
    EXPECT_EQ(units, 2);
    const Graph runs = lower_quantized(read, {}, toolkit_);
    for (std::size_t sample = 0; sample < data.size(); ++sample) {
      const std::vector<Tensor> x{data.read("x", sample, 1)};
      EXPECT_EQ(Executable(runs).run(x), Executable(result.integer).run(x));
    }
  }
  // Others do not have it.
  const QuantizeResult elsewhere =
      quantize(with_arc_tangents(), data, coverage_on("openvino"), toolkit_);
  write_model(elsewhere, path("other.onnx"), Form::kQdq, toolkit_);
  EXPECT_EQ(count_of(load_model(path("other.onnx"), {}, nullptr), "Region"), 0U);
}

TEST_F(PartsOfPlugins, LintRulesLookAtTheIntegerGraph) {
  const SamplesInMemory data = some_images();
  const QuantizeResult result =
      quantize(with_arc_tangents(), data, coverage_on("qnn"), toolkit_);
  const Target target = target_of(coverage_on("qnn"), toolkit_);
  const std::vector<LintFinding> found = lint(result.integer, target, toolkit_.lint_rules);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rule, "channels come in eights");
  EXPECT_EQ(found[0].what, "it has 5");
  toolkit_.lint_rules[0].targets = {"tensorrt"};
  EXPECT_TRUE(lint(result.integer, target, toolkit_.lint_rules).empty());
}

TEST_F(PartsOfPlugins, FindingsStandAmongThoseOfReports) {
  const Digits digits;
  const QuantizeResult result =
      quantize(digits.model, *digits.data, {}, toolkit_, {.samples = 10});
  const Report report = compare_result(result, *digits.data, toolkit_, {.samples = 10});
  const auto found =
      std::find_if(report.diagnoses.begin(), report.diagnoses.end(),
                   [](const Diagnosis& one) { return one.kind == "lossy_start"; });
  ASSERT_NE(found, report.diagnoses.end());
  EXPECT_EQ(found->layer, report.layers.front().name);
  EXPECT_TRUE(std::is_sorted(
      report.diagnoses.begin(), report.diagnoses.end(),
      [](const Diagnosis& a, const Diagnosis& b) { return a.severity > b.severity; }));
}

TEST_F(PartsOfPlugins, FindingsOfNoSeverityAreRefused) {
  const Digits digits;
  toolkit_.findings[0].find = [](const Report&) {
    return std::vector<Diagnosis>{{.kind = {},
                                   .severity = std::numeric_limits<double>::quiet_NaN(),
                                   .layer = {},
                                   .point = {},
                                   .text = {},
                                   .advice = {},
                                   .yaml = {}}};
  };
  const QuantizeResult result =
      quantize(digits.model, *digits.data, {}, toolkit_, {.samples = 4});
  EXPECT_NE(
      message_of([&] { (void)compare_result(result, *digits.data, toolkit_, {.samples = 4}); },
                 ErrorCode::kInvalidConfig)
          .find("finding 'lossy_start' has a severity of nan, expected a number from 0 "
                "to 1"),
      std::string::npos);
}

template <class Part>
void expect_names_of_their_own(const std::vector<Part>& parts) {
  std::set<std::string_view> names;
  for (const Part& part : parts) {
    EXPECT_TRUE(names.insert(part.name).second) << part.name << " is there twice";
  }
}

TEST(Toolkit, HasNoTwoPartsOfOneName) {
  const Toolkit& toolkit = Toolkit::builtin();
  expect_names_of_their_own(toolkit.rules);
  expect_names_of_their_own(toolkit.patterns);
  expect_names_of_their_own(toolkit.calibrators);
  expect_names_of_their_own(toolkit.metrics);
}

}  // namespace
}  // namespace tare::test
