// What recurrent layers refuse; what they compute is compared in tests/onnxruntime and with the
// ONNX backend's tests.
#include "tare/error.h"
#include "tare/execute.h"
#include "tare/graph.h"

#include "support/random/random.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// What is wrong with a layer of two sequences and three steps, or with running it.
std::string fault(const std::string& operands, const std::string& attributes) {
  try {
    const Graph graph = parse(
        "graph \"g\" opset 17 (%x : f32[3,2,1]) -> (%y) {\n"
        "const %w : f32[1,3,1] = [1, 2, 3]\nconst %r : f32[1,3,1] = [1, 2, 3]\n"
        "const %one : f32[1,3,2] = [1, 2, 3, 4, 5, 6]\nconst %long : i32[2] = [3, 4]\n"
        "%y = GRU(%x, " +
        operands + ") {hidden_size=1, " + attributes + "} : f32[3,1,2,1]\n}");
    (void)Executable(graph).run(std::vector{Random(1).tensor({3, 2, 1})});
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Recurrent, SaysWhatIsWrong) {
  const auto says = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  const std::string forward = "direction=\"forward\"";
  EXPECT_EQ(fault("%w, %r", forward), "");
  std::string text = fault("%w, %r", "direction=\"sideways\"");
  EXPECT_TRUE(says(text, "has direction 'sideways', expected forward")) << text;
  text = fault("%w, %r", "activations=[\"Sigmoid\", \"Cube\"]");
  EXPECT_TRUE(says(text, "activation 'Cube' is not supported")) << text;
  text = fault("%w, %r", "activations=[\"Sigmoid\"]");
  EXPECT_TRUE(says(text, "attribute 'activations' has another form, expected 2 names")) << text;
  text = fault("%w, %r, _, %long", forward);
  EXPECT_TRUE(says(text, "a sequence has length 4, expected at most 3")) << text;
  EXPECT_NE(fault("_, %r", forward), "") << "weights are missing";
  EXPECT_NE(fault("%one, %r", forward), "") << "weights do not fit";
}

}  // namespace
}  // namespace tare::test
