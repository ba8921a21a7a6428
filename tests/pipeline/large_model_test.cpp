// Models beyond the 2 GiB of one protobuf message. The test takes a minute, 10 GB of memory and
// 8 of disk, and so is run by hand, with TARE_LARGE_MODELS=1.

#include "tare/config.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"
#include "tare/quantize.h"

#include "support/files/folder.h"
#include "support/files/samples_in_memory.h"
#include "support/graphs.h"
#include "support/random/random.h"
#include "support/same_structure.h"

#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

class LargeModels : public InFolder {
 protected:
  void SetUp() override {
    InFolder::SetUp();
    if (std::getenv("TARE_LARGE_MODELS") == nullptr) {
      GTEST_SKIP() << "without TARE_LARGE_MODELS";
    }
  }
};

/// Dense layers of 256 MiB each.
Graph dense_layers(int count) {
  constexpr std::int64_t kWidth = 8192;
  Random random(1);
  Graph graph;
  ValueId value = graph.add_input("x", f32({1, kWidth}));
  for (int i = 0; i < count; ++i) {
    const Tensor row = random.tensor({1, kWidth});
    Tensor weights(DType::kFloat32, {kWidth, kWidth});
    const auto elements = weights.mutable_view<float>();
    for (std::int64_t k = 0; k < kWidth; ++k) {
      // Rows are the first one, shifted.
      std::rotate_copy(row.view<float>().begin(), row.view<float>().begin() + k,
                       row.view<float>().end(), elements.begin() + k * kWidth);
    }
    const ValueId w = graph.add_constant("w" + std::to_string(i), std::move(weights));
    value = add(graph, "Relu", {add(graph, "MatMul", {value, w}, {1, kWidth})}, {1, kWidth});
  }
  graph.set_outputs({value});
  return graph;
}

TEST_F(LargeModels, AreWrittenAndReadWithTheirDataBesideThemAndQuantized) {
  constexpr int kLayers = 12;
  constexpr std::uintmax_t kBytes = std::uintmax_t{kLayers} << 28U;
  {
    const Graph graph = dense_layers(kLayers);
    write_onnx(graph, path("large.onnx"));
    EXPECT_EQ(structural_difference(graph, read_onnx(path("large.onnx"))), "");
  }
  EXPECT_EQ(external_files(path("large.onnx")).size(), 1U);
  EXPECT_GE(stored_bytes(path("large.onnx")), kBytes);
  EXPECT_LT(stored_bytes(path("large.onnx")), kBytes + 100'000);
  const SamplesInMemory data({{"x", Random(2).tensor({4, 8192})}});
  Config config;
  config.effort = Effort::kFast;
  const QuantizeResult q =
      quantize(load_model(path("large.onnx"), {}, &data), data, config, Toolkit::builtin());
  write_onnx(export_form(q.integer, Form::kQdq, q.simulated.target), path("q.onnx"));
  EXPECT_GE(stored_bytes(path("q.onnx")), kBytes / 4);
  EXPECT_LT(stored_bytes(path("q.onnx")), kBytes / 4 + 2'000'000);
}

}  // namespace
}  // namespace tare::test
