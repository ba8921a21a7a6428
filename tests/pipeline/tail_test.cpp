// Networks with results of a shape that depends on data: their layers are quantized, and what
// stands behind them is in the file as it was.
#include "tare/config.h"
#include "tare/error.h"
#include "tare/graph.h"
#include "tare/model_files.h"
#include "tare/quantize.h"
#include "tare/toolkit.h"

#include "support/files/samples_in_memory.h"
#include "support/files/temporary_folder.h"
#include "support/tensors.h"

#include <algorithm>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using Outputs = std::vector<std::map<std::string, Tensor>>;

/// Two convolutions, and the largest of their results that are above 0.
class Picking : public ::testing::Test {
 protected:
  void SetUp() override {
    Graph graph =
        parse(R"(graph "picking" opset 17 (%x : f32[1,3,8,8]) -> (%best, %places, %b) {
  const %zero : f32[] = [0]
  const %flat : i64[1] = [-1]
  const %two : i64[1] = [2]
  %r = Relu(%x) : f32[1,3,8,8]
  %b = Relu(%r) : f32[1,3,8,8]
  %above = Greater(%b, %zero) : bool[1,3,8,8]
  %where = NonZero(%above) : i64[4,5]
  %rows = Transpose(%where) {perm=[1, 0]} : i64[5,4]
  %values = GatherND(%b, %rows) : f32[5]
  %best, %places = TopK(%values, %two) {axis=0} : f32[2], i64[2]
}
)");
    const ValueId x = graph.inputs()[0];
    const TensorType type = graph.type(x);
    ValueId data = x;
    for (const char* name : {"c", "d"}) {
      const ValueId weight =
          graph.add_constant(std::string(name) + "_w", normal_tensor({3, 3, 1, 1}, name[0]));
      const NodeId id = graph.add_node(name, "Conv", {data, weight}, {{name, type}});
      data = graph.node(id).outputs[0];
    }
    graph.set_input(*graph.find_node("r"), 0, data);
    write_onnx(graph, file_);
  }

  Graph load(const std::filesystem::path& path) const { return load_model(path, {}, &data_); }
  Outputs run(const Graph& graph) const {
    Outputs results;
    run_model(ready_to_run(graph, {}, Toolkit::builtin()), data_, 1, 0,
              [&](std::size_t, std::map<std::string, Tensor> outputs) {
                results.push_back(std::move(outputs));
              });
    return results;
  }

  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_ / "picking.onnx";
  SamplesInMemory data_{{{"x", normal_tensor({40, 3, 8, 8}, 9)}}};
};

TEST_F(Picking, IsRunForEachSampleAtTheShapesThatItHas) {
  const Graph graph = load(file_);
  EXPECT_EQ(model_outputs(graph), (std::vector<std::string>{"best", "places", "b"}));
  for (const auto& outputs : run(graph)) {
    ASSERT_EQ(outputs.size(), 3U);
    std::vector<float> values = outputs.at("b").to_float();
    std::erase(values, 0.F);
    const std::vector<std::int64_t> places = outputs.at("places").to_int64();
    std::sort(values.rbegin(), values.rend());
    EXPECT_EQ(outputs.at("best").to_float(), (std::vector<float>{values[0], values[1]}));
  }
}

TEST_F(Picking, GivesTheSameResultsOnAnyNumberOfThreads) {
  const Graph graph = load(file_);
  const Outputs one = run(graph);
  Outputs many;
  run_model(ready_to_run(graph, {}, Toolkit::builtin()), data_, 4, 0,
            [&](std::size_t, std::map<std::string, Tensor> outputs) {
              many.push_back(std::move(outputs));
            });
  ASSERT_EQ(one.size(), many.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].at("best").to_float(), many[i].at("best").to_float());
  }
}

TEST_F(Picking, IsQuantizedUpToWhereShapesDependOnData) {
  const Graph graph = load(file_);
  const QuantizeResult result = quantize(graph, data_, {}, Toolkit::builtin());
  const auto& warnings = result.audit.warnings;
  const auto said = std::find_if(warnings.begin(), warnings.end(), [](const Warning& warning) {
    return warning.kind == "unquantized_tail";
  });
  ASSERT_NE(said, warnings.end());
  EXPECT_EQ(said->where, "outputs 'best', 'places'");
  EXPECT_EQ(said->what,
            "come from 5 operators that stay as they are, as of node 'where' (NonZero): output "
            "shape depends on data");

  const auto written = folder_ / "picking.int8.onnx";
  write_onnx(result.qdq, written);
  const Graph read = load(written);
  EXPECT_TRUE(is_quantized(read));
  EXPECT_EQ(model_outputs(read), model_outputs(graph));
  ASSERT_TRUE(read.tail);
  EXPECT_EQ(read.tail->operators.size(), graph.tail->operators.size());
  // 8 bits are 256 steps for all values of b: best ones differ by a few of these at most.
  const Outputs floats = run(graph);
  const Outputs integers = run(read);
  ASSERT_EQ(floats.size(), integers.size());
  for (std::size_t i = 0; i < floats.size(); ++i) {
    const float largest = floats[i].at("best").to_float()[0];
    EXPECT_NEAR(integers[i].at("best").to_float()[0], largest, 0.1 * largest);
  }
}

TEST_F(Picking, IsRefusedWhereAllLayersAreBehindIt) {
  const Graph model = load(file_);
  Graph nothing;
  nothing.set_outputs({nothing.add_input("x", model.type(model.inputs()[0]))});
  nothing.tail = model.tail;
  EXPECT_THROW((void)quantize(nothing, data_, {}, Toolkit::builtin()), Error);
}

TEST_F(Picking, KeepsItsEndInEveryForm) {
  const QuantizeResult result = quantize(load(file_), data_, {}, Toolkit::builtin());
  for (const Form form : {Form::kQdq, Form::kQoperator, Form::kInteger}) {
    const auto written = folder_ / "form.onnx";
    write_onnx(export_form(result.integer, form, result.simulated.target), written);
    const Graph read = load(written);
    EXPECT_EQ(model_outputs(read), (std::vector<std::string>{"best", "places", "b"}));
    EXPECT_EQ(run(read).size(), 40U);
  }
}

}  // namespace
}  // namespace tare::test
