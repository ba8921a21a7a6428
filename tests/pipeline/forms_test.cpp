
#include "support/config.h"
#include "support/files/digits.h"
#include "support/graphs.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using Names = std::set<std::string>;

Names operators_of(const Graph& graph) {
  Names names;
  for (const NodeId id : graph.nodes()) {
    names.insert(graph.node(id).op);
  }
  return names;
}

class Forms : public ::testing::Test {
 protected:
  Graph exported(Form form, const std::vector<std::string>& settings = {}) const {
    const Config config = config_with(settings);
    const Digits digits;
    return export_form(
        quantize(digits.model, *digits.data, config, Toolkit::builtin(), {.samples = 4})
            .integer,
        form);
  }
};

TEST_F(Forms, QOperatorLeavesNothingToFloatThatHasAnIntegerOperator) {
  const Graph graph = exported(Form::kQoperator);
  // What moves elements acts on storage values; sums of the last layer stay real.
  EXPECT_EQ(operators_of(graph),
            (Names{"Flatten", "MaxPool", "QGemm", "QLinearAdd", "QLinearConcat", "QLinearConv",
                   "QLinearGlobalAveragePool", "QuantizeLinear"}));
  EXPECT_EQ(count_of(graph, "QuantizeLinear"), 1U);
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const DType first = graph.type(node.inputs[0]).dtype;
    EXPECT_TRUE(node.op == "QuantizeLinear" || node.op == "QLinearConcat" ||
                first == DType::kUint8)
        << node.name;
  }
}

TEST_F(Forms, QOperatorKeepsInFloatWhatItHasNoProductFor) {
  // ONNX Runtime has none of i8 with u8.
  const Graph graph =
      exported(Form::kQoperator, {"activations.storage=int8", "weights.storage=uint8"});
  EXPECT_EQ(count_of(graph, "QLinearConv"), 0U);
  EXPECT_EQ(count_of(graph, "Conv"), 17U);
}

TEST_F(Forms, IntegerHasCoreOperatorsOnly) {
  for (const char* storage : {"activations.storage=uint8", "activations.storage=int8"}) {
    const Graph graph = exported(Form::kInteger, {storage});
    EXPECT_EQ(operators_of(graph),
              (Names{"Add", "Cast", "Clip", "Concat", "ConvInteger", "Div", "Flatten",
                     "GlobalAveragePool", "MatMulInteger", "MaxPool", "Mul", "Round", "Sub"}));
    EXPECT_EQ(count_of(graph, "ConvInteger"), 17U);
  }
}

TEST_F(Forms, IntegerMultipliesTheTypesThatOnnxRuntimeMultiplies) {
  for (const char* activations : {"activations.storage=uint8", "activations.storage=int8"}) {
    for (const char* weights : {"weights.storage=uint8", "weights.storage=int8"}) {
      const Graph graph = exported(Form::kInteger, {activations, weights});
      for (const NodeId id : graph.nodes()) {
        const Node& node = graph.node(id);
        if (node.op != "ConvInteger" && node.op != "MatMulInteger") {
          continue;
        }
        const DType x = graph.type(node.inputs[0]).dtype;
        const DType w = graph.type(node.inputs[1]).dtype;
        EXPECT_TRUE(x == DType::kUint8 || (node.op == "MatMulInteger" && w == DType::kInt8));
        EXPECT_TRUE(w == DType::kUint8 || node.op == "MatMulInteger");
      }
    }
  }
}

}  // namespace
}  // namespace tare::test
