#include "tare/execute.h"
#include "tare/model_files.h"
#include "tare/pattern.h"

#include "prepare/rule_registry.h"
#include "support/difference.h"
#include "support/graphs.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

namespace fs = std::filesystem;

Graph imported(const fs::path& path) {
  return read_onnx(path,
                   {.dims = {},
                    .input_shapes = {},
                    .supported_ops = {},
                    .evaluate = [](const Node& node, std::span<const Tensor* const> inputs,
                                   std::span<const TensorType> types) {
                      return evaluate(node, inputs, types);
                    }});
}

std::map<std::string, int> prepared_counts(const fs::path& path) {
  return operator_counts(rewrite(imported(path), prepare_rules()));
}

double difference(const Graph& a, const Graph& b) {
  std::mt19937 random(3);
  std::vector<Tensor> inputs;
  for (const ValueId id : a.inputs()) {
    Tensor tensor(a.type(id).dtype, a.type(id).shape);
    if (tensor.dtype() == DType::kFloat32) {
      std::normal_distribution<float> numbers;
      std::ranges::generate(tensor.mutable_view<float>(), [&] { return numbers(random); });
    } else {
      // Token numbers, and masks of which both values occur.
      std::uniform_int_distribution<std::int64_t> numbers(0, 1);
      std::ranges::generate(tensor.mutable_view<std::int64_t>(),
                            [&] { return numbers(random); });
    }
    inputs.push_back(std::move(tensor));
  }
  return distance({Executable(a).run(inputs)}, {Executable(b).run(inputs)});
}

/// Names of the operators of `before` that no node of `after` is called by or took over.
std::vector<std::string> lost(const Graph& before, const Graph& after) {
  std::set<std::string> found;
  for (const NodeId id : after.nodes()) {
    const Node& node = after.node(id);
    found.insert(node.name);
    for (const Origin& origin : node.origins) {
      found.insert(origin.name);
    }
  }
  std::vector<std::string> result;
  for (const NodeId id : before.nodes()) {
    const Node& node = before.node(id);
    if (!found.contains(node.name)) {
      result.push_back(node.name + " (" + node.op + ")");
    }
  }
  return result;
}

/// What float rounding may do in a network of a few dozen layers: the bound that the toolkit
/// keeps against ONNX Runtime as well.
constexpr double kRounding = 1e-4;

TEST(DigitsModel, LosesItsBatchNormsAndIdentities) {
  const fs::path path = fs::path(TARE_SOURCE_DIR) / "data/digits.onnx";
  const Graph before = imported(path);
  const Graph after = rewrite(before, prepare_rules());
  const auto counts = operator_counts(after);
  EXPECT_EQ(counts.count("BatchNormalization"), 0U);
  EXPECT_EQ(counts.count("Identity"), 0U);
  EXPECT_EQ(counts.at("Conv"), 17);
  EXPECT_LT(difference(before, after), kRounding);
}

TEST(DigitsModel, KeepsTrackOfAllOperatorsButThoseOfConstants) {
  const Graph before = imported(fs::path(TARE_SOURCE_DIR) / "data/digits.onnx");
  EXPECT_EQ(lost(before, rewrite(before, prepare_rules())),
            std::vector<std::string>{"Identity_0 (Identity)"});
}

TEST(NormalizationOfTensorFlow, IsALayerNormalization) {
  const Graph graph = parse(R"(graph "g" opset 17 (%x : f32[2,4]) -> (%y) {
  const %epsilon : f32[] = [0.001]
  const %gamma : f32[4] = [1, 2, 0.5, -1]
  const %beta : f32[4] = [0, 1, 2, 3]
  %m = ReduceMean(%x) {axes=[1]} : f32[2,1]
  %d = Sub(%x, %m) : f32[2,4]
  %q = Mul(%d, %d) : f32[2,4]
  %v = ReduceMean(%q) {axes=[1]} : f32[2,1]
  %e = Add(%v, %epsilon) : f32[2,1]
  %s = Sqrt(%e) : f32[2,1]
  %r = Reciprocal(%s) : f32[2,1]
  %k = Mul(%r, %gamma) : f32[2,4]
  %a = Mul(%x, %k) : f32[2,4]
  %b = Mul(%m, %k) : f32[2,4]
  %c = Sub(%beta, %b) : f32[2,4]
  %y = Add(%a, %c) : f32[2,4]
})");
  const Graph after = rewrite(graph, prepare_rules());
  EXPECT_EQ(operator_counts(after), (std::map<std::string, int>{{"LayerNormalization", 1}}));
  EXPECT_LT(difference(graph, after), 1e-6);
}

class SharedModels : public testing::Test {
 protected:
  void SetUp() override {
    const char* shared = std::getenv("TARE_SHARED");
    models_ = fs::path(shared != nullptr ? shared : TARE_SOURCE_DIR "/../shared") / "models";
    if (!fs::is_directory(models_)) {
      GTEST_SKIP() << "no models beside the source (set TARE_SHARED)";
    }
  }
  fs::path models_;
};

TEST_F(SharedModels, AgreeOnResnetWhicheverWayItWasExported) {
  const auto folded = prepared_counts(models_ / "resnet20_cifar10_op13.onnx");
  EXPECT_EQ(folded, prepared_counts(models_ / "resnet20_cifar10_op17_bn.onnx"));
  EXPECT_EQ(folded.count("BatchNormalization"), 0U);
  EXPECT_EQ(folded.at("Conv"), 19);
  for (const char* op : {"Shape", "ConstantOfShape", "Cast", "Gather", "Transpose"}) {
    EXPECT_EQ(folded.count(op), 0U) << op;
  }
}

TEST_F(SharedModels, AgreeOnTheTransformerWhicheverOpsetItHas) {
  const auto split = prepared_counts(models_ / "sst2_encoder2L_d96_op13.onnx");
  EXPECT_EQ(split, prepared_counts(models_ / "sst2_encoder2L_d96_op17.onnx"));
  EXPECT_EQ(split.at("LayerNormalization"), 5);
  EXPECT_EQ(split.at("Gelu"), 2);
  for (const char* op : {"Erf", "Pow", "ReduceMean", "Sqrt"}) {
    EXPECT_EQ(split.count(op), 0U) << op;
  }
}

std::vector<RewriteRule> constants_only() {
  std::vector<RewriteRule> rules = prepare_rules();
  std::erase_if(rules, [](const RewriteRule& rule) {
    return rule.name != "fold_constants" && rule.name != "fold_shape";
  });
  return rules;
}

TEST_F(SharedModels, KeepTheirResults) {
  for (const auto& entry : fs::directory_iterator(models_)) {
    SCOPED_TRACE(entry.path().filename().string());
    // Shapes that the graph computes are constants to the executor, so those are folded first.
    const Graph before = rewrite(imported(entry.path()), constants_only());
    const Graph after = rewrite(before, prepare_rules());
    EXPECT_EQ(operator_counts(after).count("BatchNormalization"), 0U);
    EXPECT_EQ(lost(before, after), std::vector<std::string>{});
    EXPECT_LT(difference(before, after), kRounding);
  }
}

}  // namespace
}  // namespace tare::test
