// Layers that stay in float between integer ones keep their weights in ONNX Runtime.
#include "tare/config.h"
#include "tare/execute.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"

#include "lower/lower.h"
#include "raw_samples.h"
#include "support/files/samples_in_memory.h"
#include "support/random/random.h"
#include "with_onnxruntime.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

class FloatWeights : public WithOnnxRuntime {
 protected:
  /// The largest difference to our executor, in steps of the result.
  float steps_apart(const Graph& integer, const Target& target) {
    const auto file = folder_ / "model.onnx";
    const Tensor x = random_.tensor(integer.type(integer.inputs()[0]).shape);
    const SamplesInMemory data({{"x", x}});
    write_onnx(export_form(integer, Form::kQdq, target), file);
    const auto theirs = runtime_->run(file, write_raw_samples(integer, data, 0, folder_),
                                      folder_ / "outputs")[0];
    const auto ours = Executable(integer).run(std::vector<Tensor>{x})[0].to_float();
    float largest = 0;
    for (std::size_t i = 0; i < ours.size(); ++i) {
      largest = std::max(largest, std::abs(ours[i] - theirs[i]));
    }
    return largest / kStep;
  }

  /// A layer of that kind between conversions, its weights in float and those of every other
  /// result 50 times smaller.
  Graph between_conversions(const std::string& op, const Shape& in, const Shape& out,
                            const Shape& weights) {
    Tensor w = random_.tensor(weights);
    const auto values = w.mutable_view<float>();
    const std::size_t of_result = values.size() / 8;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] *= i / of_result % 2 == 0 ? 1 : 0.02F;
    }
    const std::string step = std::to_string(kStep);
    Graph graph = parse(
        "graph \"g\" opset 17 (%x : f32" + to_string(in) +
        ") -> (%y) {\nconst %s : f32[] = [0.02]\nconst %t : f32[] = [" + step +
        "]\nconst %z : u8[] = [128]\nconst %w : f32" + to_string(weights) + " = [0" +
        repeated(", 0", values.size() - 1) + "]\n" + "%q = QuantizeLinear(%x, %s, %z) : u8" +
        to_string(in) + "\n%d = DequantizeLinear(%q, %s, %z) : f32" + to_string(in) +
        "\n%p = " + op + " : f32" + to_string(out) + "\n%r = QuantizeLinear(%p, %t, %z) : u8" +
        to_string(out) + "\n%y = DequantizeLinear(%r, %t, %z) : f32" + to_string(out) + "\n}");
    const ValueId constant = *graph.find_value("w");
    graph.replace_uses(constant, graph.add_constant("weights", w));
    graph.erase_unused();
    return lower(from_qdq(std::move(graph)));
  }

  static std::string repeated(const std::string& text, std::size_t count) {
    std::string result;
    for (std::size_t i = 0; i < count; ++i) {
      result += text;
    }
    return result;
  }

  static constexpr float kStep = 0.001F;
  Random random_{1};
};

TEST_F(FloatWeights, AreThoseOfTheFile) {
  for (const Graph& integer :
       {between_conversions("Conv(%d, %w)", {1, 4, 5, 5}, {1, 8, 5, 5}, {8, 4, 1, 1}),
        between_conversions("Conv(%d, %w) {group=8}", {1, 8, 5, 5}, {1, 8, 5, 5}, {8, 1, 1, 1}),
        between_conversions("Conv(%d, %w)", {1, 1, 5, 5}, {1, 8, 5, 5}, {8, 1, 1, 1}),
        between_conversions("Gemm(%d, %w) {transB=1}", {1, 16}, {1, 8}, {8, 16})}) {
    // Sums in another order may round a value to the next step.
    EXPECT_LE(steps_apart(integer, read_target("ort-cpu")), 1.01F) << print(integer, 4);
    // Why the target says so: weights of one scale lose those of small channels.
    EXPECT_GT(steps_apart(integer, {}), 2) << print(integer, 4);
  }
}

}  // namespace
}  // namespace tare::test
