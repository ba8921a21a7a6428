// SVDF of a stored network, layer by layer, against what the reference kernels computed.
#include "tare/execute.h"

#include "tflite/golden.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

TEST(TfliteSvdf, OfIntegersEqualsTheReferenceKernelsInEveryLayer) {
  int layers = 0;
  for (const Golden& golden : golden_networks()) {
    const tflite::ModelFile whole(golden.model);
    const auto runs = golden_runs(golden, whole, "tflm");
    if (runs.empty()) {
      continue;
    }
    // On operands that the kernels computed.
    std::map<int, Tensor> activations = golden_layers(golden, "tflm");
    activations.insert(runs[0].inputs.begin(), runs[0].inputs.end());
    for (std::size_t i = 0; i < whole.operators.size(); ++i) {
      if (whole.operators[i].name != "SVDF") {
        continue;
      }
      tflite::ModelFile file(golden.model);
      keep_operator(file, i);
      const int output = file.outputs[0];
      const auto ours =
          tensors_of(integer_graph(file, Numerics::kTfliteRef), file, activations);
      EXPECT_EQ(apart(ours.at(output), activations.at(output)).different, 0U)
          << golden.name << ", tensor " << output;
      ++layers;
    }
  }
  if (layers == 0) {
    GTEST_SKIP() << "no stored results";
  }
}

}  // namespace
}  // namespace tare::test
