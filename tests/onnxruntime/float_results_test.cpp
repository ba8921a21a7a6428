// Products on integers whose results are read in float, behind a Relu or Clip: ONNX Runtime
// runs them on integers as we write them, and verdicts say what it does with those of other
// tools.
#include "tare/config.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"

#include "lower/lower.h"
#include "with_onnxruntime.h"

#include <algorithm>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

Graph clipped(const std::string& product, const std::string& clip) {
  return parse(
      "graph \"g\" opset 17 (%x : f32[1,4]) -> (%y) {\n"
      "const %s : f32[] = [0.5]\nconst %z : u8[] = [3]\nconst %t : f32[] = [0.25]\n"
      "const %m : i8[] = [0]\nconst %low : f32[] = [-1]\nconst %high : f32[] = [6]\n"
      "const %w : i8[4,2] = [1, -2, 3, 4, 9, -8, 7, 6]\nconst %f : f32[2,2] = [1, 0.5, -1, 2]\n"
      "%q = QuantizeLinear(%x, %s, %z) : u8[1,4]\n"
      "%d = DequantizeLinear(%q, %s, %z) : f32[1,4]\n"
      "%v = DequantizeLinear(%w, %t, %m) : f32[4,2]\n"
      "product: %p = " +
      product + "(%d, %v) : f32[1,2]\n%r = " + clip +
      " : f32[1,2]\nlast: %y = MatMul(%r, %f) : f32[1,2]\n}");
}

class FloatResults : public WithOnnxRuntime {
 protected:
  bool runs_on_integers(const Graph& file) {
    const auto path = folder_ / "model.onnx";
    write_onnx(file, path);
    const std::map<std::string, int> kernels = runtime_->kernels(path);
    return kernels.count("QGemm") + kernels.count("MatMulIntegerToFloat") > 0;
  }

  static bool is_said_to_run_on_integers(const Graph& file) {
    const auto all = verdicts(file, read_target("ort-cpu"));
    const auto product = std::find_if(all.begin(), all.end(), [](const Verdict& verdict) {
      return verdict.node == "product";
    });
    return product != all.end() && product->because.empty();
  }
};

TEST_F(FloatResults, OfProductsOnIntegersMayBeClipped) {
  for (const char* product : {"Gemm", "MatMul"}) {
    for (const char* clip : {"Relu(%p)", "Clip(%p, %low, %high)", "Sigmoid(%p)"}) {
      const Graph file = clipped(product, clip);
      const std::string what = std::string(product) + " " + clip;
      EXPECT_EQ(runs_on_integers(file), is_said_to_run_on_integers(file)) << what;
      const Graph ours = export_form(lower(from_qdq(file)), Form::kQdq, read_target("ort-cpu"));
      EXPECT_TRUE(runs_on_integers(ours)) << what << "\n" << print(ours);
      EXPECT_TRUE(is_said_to_run_on_integers(ours)) << what << "\n" << print(ours);
    }
  }
}

}  // namespace
}  // namespace tare::test
