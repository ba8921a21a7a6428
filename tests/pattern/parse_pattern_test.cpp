#include "tare/error.h"
#include "tare/graph.h"
#include "tare/pattern.h"

#include "support/message.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

const char* const kAttention = R"(graph "g" opset 17 (%q : f32[2,4], %k : f32[4,2]) -> (%y) {
    const %s : f32[] = [2]
    const %m : f32[2,2] = [0, 1, 2, 3]
    const %w : f32[2,2] = [0, 1, 2, 3]
    product: %p = MatMul(%q, %k) : f32[2,2]
    scale: %d = Div(%p, %s) : f32[2,2]
    mask: %a = Add(%m, %d) : f32[2,2]
    softmax: %t = Softmax(%a) : f32[2,2]
    weights: %y = MatMul(%t, %w) : f32[2,2]
  })";

/// Names of the nodes of the first match in topological order.
std::string matched(const std::string& pattern) {
  const Graph graph = parse(kAttention);
  for (const NodeId id : graph.topological_order()) {
    if (const auto match = parse_pattern(pattern).match(graph, id)) {
      std::string names;
      for (const NodeId node : match->nodes()) {
        names += (names.empty() ? "" : " ") + graph.node(node).name;
      }
      return names;
    }
  }
  return "none";
}

TEST(ParsePattern, NamesOperatorsAndTheirOperands) {
  EXPECT_EQ(matched("Softmax"), "softmax");
  EXPECT_EQ(matched("MatMul(Softmax, any)"), "weights softmax");
  EXPECT_EQ(matched(" MatMul( Softmax(Add) , constant ) "), "weights softmax mask");
  EXPECT_EQ(matched("MatMul(Softmax, computed)"), "none");
  EXPECT_EQ(matched("MatMul(computed, computed)"), "product");
  EXPECT_EQ(matched("Mul|Div(MatMul)"), "scale product");
}

TEST(ParsePattern, TriesBothOrdersOfSumsAndProducts) {
  EXPECT_EQ(matched("Add(Div, constant)"), "mask scale");
  EXPECT_EQ(matched("Add(constant, Div)"), "mask scale");
  EXPECT_EQ(matched("Add(Div)"), "none") << "one operand is the first one";
}

TEST(ParsePattern, LetsOperatorsBeMissing) {
  EXPECT_EQ(matched("Softmax(Add?(Mul|Div?(MatMul(computed, computed)), any))"),
            "softmax mask scale product");
  EXPECT_EQ(matched("Softmax(Relu?(Add(Div?(MatMul), constant)))"),
            "softmax mask scale product");
  EXPECT_EQ(matched("MatMul(Relu?(Softmax))"), "weights softmax");
}

TEST(ParsePattern, LeavesContextOutOfTheMatch) {
  EXPECT_EQ(matched("MatMul(Softmax(@Add))"), "weights softmax");
  EXPECT_EQ(matched("MatMul(Softmax(@Mul))"), "none");
}

TEST(ParsePattern, SaysWhereATextIsNone) {
  const auto fault = [](const std::string& text) {
    return message_of([&] { return parse_pattern(text); }, ErrorCode::kInvalidConfig);
  };
  EXPECT_NE(fault("").find("at character 1"), std::string::npos) << fault("");
  EXPECT_NE(fault("Add(").find("at character 5"), std::string::npos) << fault("Add(");
  EXPECT_NE(fault("Add(any").find("expected ',' or ')'"), std::string::npos);
  EXPECT_NE(fault("Add(any))").find("at character 9"), std::string::npos);
  EXPECT_NE(fault("@Add").find("not only context"), std::string::npos);
  EXPECT_NE(fault("Add?").find("may be missing"), std::string::npos);
  for (const char* any : {"any", "constant", "computed", "Relu?(any)"}) {
    EXPECT_NE(fault(any).find("at character 1, expected the name"), std::string::npos)
        << fault(any);
  }
  std::string deep;
  for (int i = 0; i < 100'000; ++i) {
    deep += "Relu(";
  }
  EXPECT_NE(fault(deep).find("at most 100 levels"), std::string::npos);
}

}  // namespace
}  // namespace tare::test
