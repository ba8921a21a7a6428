// Graphs of each stage as text, read back as models.
#include "tare/execute.h"
#include "tare/integer_graph.h"
#include "tare/quantize.h"

#include "support/files/digits.h"
#include "support/files/files.h"
#include "support/files/folder.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

class TextModels : public InFolder {
 protected:
  Graph read_back(const Graph& graph) const {
    write_bytes(path("graph.tir"), print(graph));
    return load_model(path("graph.tir"), {}, nullptr);
  }

  std::vector<float> results(const Graph& graph) const { return digits_.results(graph); }

  const Digits digits_;
  const QuantizeResult result_ =
      quantize(digits_.model, *digits_.data, {}, Toolkit::builtin(), {.samples = 20});
};

TEST_F(TextModels, OfAllStagesAreTheGraphsThatWerePrinted) {
  const std::vector<Graph> stages{
      digits_.model,
      result_.prepared,
      tare::bind(result_.simulated, result_.table),
      lowered(result_.simulated, result_.table, LoweringStage::kAffine),
      lowered(result_.simulated, result_.table, LoweringStage::kExpanded),
      result_.integer,
      result_.qdq};
  for (const Graph& stage : stages) {
    EXPECT_EQ(read_back(stage), stage);
  }
}

TEST_F(TextModels, RunAsTheGraphsDo) {
  const Graph simulated = tare::bind(result_.simulated, result_.table);
  EXPECT_EQ(results(read_back(simulated)), results(simulated));
  const std::vector<float> expected = results(result_.integer);
  EXPECT_EQ(results(read_back(result_.integer)), expected);
  EXPECT_EQ(
      results(read_back(lowered(result_.simulated, result_.table, LoweringStage::kExpanded))),
      expected);
}

TEST_F(TextModels, AreQuantizedLikeTheModelsTheyWerePrintedOf) {
  const QuantizeResult again = quantize(read_back(digits_.model), *digits_.data, {},
                                        Toolkit::builtin(), {.samples = 20});
  EXPECT_EQ(again.integer, result_.integer);
}

TEST_F(TextModels, OfAnIntegerGraphAreQuantizedModels) {
  const Graph integer = read_back(result_.integer);
  EXPECT_TRUE(is_quantized(integer));
  EXPECT_EQ(lower_quantized(integer, {}, Toolkit::builtin()), result_.integer);
  const Target target = read_target("ort-cpu");
  EXPECT_EQ(verdicts_of_file(integer, target, Toolkit::builtin()).size(),
            verdicts_of_file(result_.qdq, target, Toolkit::builtin()).size());
}

TEST_F(TextModels, OfSimulatedGraphsAreForRunningAlone) {
  const Graph simulated = read_back(tare::bind(result_.simulated, result_.table));
  EXPECT_EQ(message_of([&] { (void)prepare(simulated, Toolkit::builtin()); },
                       ErrorCode::kInvalidModel),
            "model: is a simulated graph, expected a float model, or a quantized one\n"
            "  hint: 'tare run' runs simulated graphs, nothing else takes them");
}

TEST_F(TextModels, ThatAreDamagedSayWhere) {
  const std::string text = print(result_.integer);
  write_bytes(path("half.tir"), text.substr(0, text.size() / 2));
  const std::string message = message_of(
      [&] { (void)load_model(path("half.tir"), {}, nullptr); }, ErrorCode::kInvalidModel);
  EXPECT_EQ(message.substr(0, 9), "half.tir:") << message;
}

TEST_F(TextModels, OfEachLoweringStageDoWhatTheirNameSays) {
  const auto count = [&](LoweringStage stage, const std::string& op) {
    const Graph graph = lowered(result_.simulated, result_.table, stage);
    const std::vector<NodeId> nodes = graph.nodes();
    return std::count_if(nodes.begin(), nodes.end(),
                         [&](NodeId id) { return graph.node(id).op == op; });
  };
  // A region has conversions of its own, which meet and become Requantize.
  EXPECT_GT(count(LoweringStage::kAffine, "Dequantize"), 20);
  EXPECT_EQ(count(LoweringStage::kAffine, "Requantize"), 0);
  EXPECT_EQ(count(LoweringStage::kExpanded, "Requantize"), 0);
  EXPECT_GT(count(LoweringStage::kInteger, "Requantize"), 15);
  EXPECT_EQ(count(LoweringStage::kInteger, "Dequantize"), 1);
}

}  // namespace
}  // namespace tare::test
