#include "tare/execute.h"
#include "tare/integer_graph.h"

#include "lower/forms/forms.h"
#include "support/config.h"
#include "support/files/digits.h"
#include "support/files/samples_in_memory.h"
#include "support/graphs.h"
#include "support/random/random.h"

#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

Config config_for(const std::string& target) {
  return config_with({"target=" + target});
}

TEST(TargetFiles, ComputeWhatThePlainFormDoes) {
  const Digits digits;
  for (const std::string& name : target_names()) {
    const QuantizeResult result = quantize(digits.model, *digits.data, config_for(name),
                                           Toolkit::builtin(), {.samples = 20});
    const Executable plain(to_qdq(result.integer));
    const Executable own(export_form(result.integer, Form::kQdq, read_target(name)));
    for (std::size_t sample = 0; sample < 5; ++sample) {
      const std::vector<Tensor> inputs{digits.data->read("image", sample, 1)};
      EXPECT_EQ(own.run(inputs), plain.run(inputs)) << name;
    }
  }
}

TEST(TargetFiles, HaveOneSetOfParametersForAllThatAConcatJoins) {
  // What is joined is read elsewhere too, as in networks of dense blocks, and joined twice.
  const Graph graph = parse(
      "graph \"dense\" opset 17 (%x : f32[1,1,4,4]) -> (%y, %z) {\n"
      "const %v : f32[1,1,1,1] = [3]\nconst %w : f32[1,1,1,1] = [-0.5]\n"
      "const %u : f32[1,2,1,1] = [1, 2]\nconst %t : f32[1,3,1,1] = [1, 2, 3]\n"
      "%a = Conv(%x, %v) : f32[1,1,4,4]\n%b = Conv(%a, %w) : f32[1,1,4,4]\n"
      "%c = Concat(%a, %b) {axis=1} : f32[1,2,4,4]\n%d = Conv(%c, %u) : f32[1,1,4,4]\n"
      "%e = Concat(%c, %d) {axis=1} : f32[1,3,4,4]\n%y = Conv(%e, %t) : f32[1,1,4,4]\n"
      "%z = Conv(%b, %w) : f32[1,1,4,4]\n}");
  Tensor samples(DType::kFloat32, {8, 1, 4, 4});
  float next = -1;
  for (float& value : samples.mutable_view<float>()) {
    value = next;
    next = next > 1 ? -1 : next + 0.0625F;
  }
  const SamplesInMemory data({{"x", samples}});
  for (const char* schedule : {"sequential", "independent"}) {
    Config config = config_for("openvino");
    config.schedule =
        std::string(schedule) == "sequential" ? Schedule::kSequential : Schedule::kIndependent;
    const QuantizeResult result = quantize(graph, data, config, Toolkit::builtin());
    const QuantParams shared = result.table.at("e").params;
    for (const char* name : {"a", "b", "c", "d"}) {
      if (const auto found = result.table.find(name); found != result.table.end()) {
        EXPECT_EQ(found->second.params, shared) << name << ", " << schedule;
      }
    }
    EXPECT_EQ(result.simulated.unified.size(), 1U);
    const Target target = read_target("openvino");
    const auto findings = lint(export_form(result.integer, Form::kQdq, target), target);
    EXPECT_TRUE(findings.empty()) << findings.front().node << ": " << findings.front().what;
  }
}

TEST(TargetFiles, RunTransposedConvolutionsOnIntegers) {
  Random random(1);
  Graph graph;
  const ValueId x = graph.add_input("x", f32({1, 3, 5, 5}));
  const ValueId w = graph.add_constant("w", random.tensor({3, 4, 3, 3}));
  const ValueId b = graph.add_constant("b", random.tensor({4}));
  const ValueId y = add(graph, "ConvTranspose", {x, w, b}, {1, 4, 11, 11},
                        {{"strides", std::vector<std::int64_t>{2, 2}}});
  graph.set_outputs({add(graph, "Relu", {y}, {1, 4, 11, 11})});
  const SamplesInMemory data({{"x", random.tensor({20, 3, 5, 5})}});
  for (const char* target : {"openvino", "qnn"}) {
    const QuantizeResult result = quantize(graph, data, config_for(target), Toolkit::builtin());
    EXPECT_EQ(result.simulated.regions.size(), 1U);
    const Graph file = export_form(result.integer, Form::kQdq, read_target(target));
    EXPECT_TRUE(lint(file, read_target(target)).empty());
    const std::vector<Tensor> inputs{data.read("x", 0, 1)};
    const auto exact = Executable(graph).run(inputs)[0].to_double();
    const auto rounded = Executable(file).run(inputs)[0].to_double();
    double error = 0;
    double signal = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      error += std::pow(exact[i] - rounded[i], 2);
      signal += std::pow(exact[i], 2);
    }
    // Three roundings to 8 bits, each of about 1/(12 * 60^2) of the signal.
    EXPECT_LT(error, signal * 3 / 12 / 3600) << target;
  }
}

}  // namespace
}  // namespace tare::test
