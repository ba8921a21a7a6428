// What docs/adding.md shows does what the page says. Its C++ files are part of this program.
#include "tare/calibrator.h"
#include "tare/dataset.h"
#include "tare/pattern.h"
#include "tare/quantize.h"
#include "tare/report.h"
#include "tare/simulate.h"

#include "execute/kernel.h"
#include "support/graphs.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

TARE_CALIBRATOR(half);
TARE_METRIC(right_in_two);
TARE_PATTERN(maximum);
TARE_RULE(negated_twice);
TARE_KERNEL(negate);

namespace tare::test {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = TARE_SOURCE_DIR;

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  return lines;
}

TEST(Adding, TheCalibratorOfThePageChoosesItsShareOfTheObservedRange) {
  Toolkit toolkit = Toolkit::builtin();
  toolkit.calibrators.push_back(tare_calibrator_half());
  const auto data = open_dataset(kRoot / "data/digits_calibration.h5");
  const Graph model = load_model(kRoot / "data/digits.onnx", {}, data.get());
  Config config;
  config.activations.calibrator = {"half", {{"share", 0.75}}};
  config.effort = Effort::kFast;  // else ranges end beside the grid of the values before
  const PointResult image =
      quantize(model, *data, config, toolkit, {.samples = 5}).table.at("image");
  EXPECT_DOUBLE_EQ(image.calibrated[0].low, 0.75 * image.observed[0].low);
  EXPECT_DOUBLE_EQ(image.calibrated[0].high, 0.75 * image.observed[0].high);
}

TEST(Adding, TheMetricOfThePageCountsLabelsAmongTheTwoTopClasses) {
  const auto instance = tare_metric_right_in_two().make();
  const std::vector<Tensor> real{Tensor::of<float>({1, 3}, {0, 0, 0})};
  const std::vector<Tensor> quantized{Tensor::of<float>({1, 3}, {3, 1, 2})};
  for (const std::int64_t label : {0, 1, 2, 2}) {
    instance->observe({real, quantized, label});
  }
  EXPECT_EQ(instance->value(), 0.75);
  instance->observe({real, quantized, 3});
  EXPECT_EQ(instance->value(), std::nullopt) << "there is no such class";
}

TEST(Adding, ThePatternOfThePageQuantizesMaximaBetweenIntegers) {
  const Graph graph = parse(R"(graph "g" opset 17 (%x : f32[1,1,2,2]) -> (%y) {
    const %w : f32[1,1,1,1] = [1]
    const %v : f32[1,1,1,1] = [-1]
    %a = Conv(%x, %w) : f32[1,1,2,2]
    %b = Conv(%x, %v) : f32[1,1,2,2]
    %m = Max(%a, %b) : f32[1,1,2,2]
    %y = Conv(%m, %w) : f32[1,1,2,2]
  })");
  Toolkit toolkit = Toolkit::builtin();
  toolkit.patterns.push_back(tare_pattern_maximum());
  Config config;
  config.target = "qnn";  // takes all that there are patterns for
  const auto with_maximum = [&] {
    const std::vector<Region> regions =
        simulate(graph, config, target_of(config, toolkit), toolkit.patterns).regions;
    return std::any_of(regions.begin(), regions.end(),
                       [](const Region& region) { return region.pattern->name == "maximum"; });
  };
  EXPECT_TRUE(with_maximum());
  toolkit.patterns.back().targets = {"tensorrt"};
  EXPECT_FALSE(with_maximum()) << "it is for another target";
}

TEST(Adding, TheRuleOfThePageRemovesTwoNegations) {
  const std::array rules{tare_rule_negated_twice()};
  const Graph graph = rewrite(parse(R"(graph "g" opset 17 (%x : f32[2]) -> (%y) {
    %n = Neg(%x) : f32[2]
    %m = Neg(%n) : f32[2]
    %y = Relu(%m) : f32[2]
  })"),
                              rules);
  ASSERT_EQ(graph.topological_order().size(), 1U);
  EXPECT_EQ(graph.node(graph.topological_order()[0]).op, "Relu");
}

TEST(Adding, TheKernelOfThePageNegatesFloatsAndTakesNothingElse) {
  const TensorType floats = f32({3});
  const KernelInfo info = tare_kernel_negate();
  const Node node{.name = "n",
                  .op = "Neg",
                  .inputs = {ValueId{0}},
                  .outputs = {ValueId{1}},
                  .attributes = {}};
  KernelRequest request;
  request.node = &node;
  request.inputs = {Operand{.type = &floats}};
  request.outputs = {Operand{.type = &floats}};
  const auto kernel = info.make(request);
  ASSERT_NE(kernel, nullptr);
  const std::array<float, 3> x{1, -2.5F, 0};
  std::array<float, 3> y{};
  const std::array inputs{reinterpret_cast<const std::byte*>(x.data())};
  const std::array outputs{reinterpret_cast<std::byte*>(y.data())};
  kernel->run({.inputs = inputs, .outputs = outputs});
  EXPECT_EQ(y, (std::array<float, 3>{-1, 2.5F, 0}));

  const TensorType integers = typed(DType::kInt32, {3});
  request.inputs = {Operand{.type = &integers}};
  EXPECT_EQ(info.make(request), nullptr);
}

/// Single rows and shortened files, which the page takes from the files that it names: block by
/// block, the first line of the block or the heading above it names the file.
TEST(Adding, RowsAndTargetsOfThePageAreInTheFilesThatItNames) {
  std::string heading;
  std::string named;
  bool is_fenced = false;
  std::set<std::string> checked;
  const std::vector<std::string> page = lines_of(kRoot / "docs/adding.md");
  for (std::size_t i = 0; i < page.size(); ++i) {
    const std::string& line = page[i];
    if (line.starts_with("## ")) {
      const std::size_t begin = line.find('`');
      heading = begin == std::string::npos
                    ? ""
                    : line.substr(begin + 1, line.find('`', begin + 1) - begin - 1);
    }
    if (line.starts_with("```")) {
      is_fenced = !is_fenced;
      const std::string next = is_fenced ? page.at(i + 1) : "";
      const bool is_row = line == "```cpp" && !next.starts_with("// ");
      const bool is_target = line == "```yaml";
      named = is_row ? heading : is_target ? next.substr(2, next.find(',') - 2) : "";
      continue;
    }
    if (is_fenced && !named.empty() && !line.starts_with("# ")) {
      const std::vector<std::string> lines = lines_of(kRoot / named);
      EXPECT_TRUE(std::any_of(lines.begin(), lines.end(),
                              [&](const std::string& there) {
                                return there == line || there == "    " + line ||
                                       there == "      " + line;
                              }))
          << "'" << line << "' is not in " << named;
      checked.insert(named);
    }
  }
  EXPECT_EQ(checked,
            (std::set<std::string>{"configs/targets/qnn.yaml", "docs/examples/npu.yaml",
                                   "src/graph/operators/affine_ops.cpp",
                                   "src/reconstruct/gradients/activation.cpp",
                                   "src/tflite/operators.cpp"}));
}

}  // namespace
}  // namespace tare::test
