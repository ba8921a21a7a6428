// What the executor computes with the numerics of TensorFlow Lite, against what its
// interpreters computed.
#include "tare/error.h"
#include "tare/execute.h"

#include "tflite/golden.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Operators of which the algorithm is not known; the executor says so.
bool is_refused(const Golden& golden, Numerics numerics) {
  const bool wide_function = golden.name == "logistic_i16" || golden.name == "tanh_i16";
  return (numerics != Numerics::kTfliteRef && wide_function) ||
         (numerics == Numerics::kTfliteXnn && golden.name.starts_with("resize_bilinear"));
}

class TfliteNumerics : public ::testing::TestWithParam<Golden> {
 protected:
  /// Of all results that were kept, every activation among them.
  static void expect_equal(Numerics numerics, const std::string& runtime) {
    const tflite::ModelFile file(GetParam().model);
    const auto runs = golden_runs(GetParam(), file, runtime);
    if (runs.empty()) {
      GTEST_SKIP() << "no results of " << runtime;
    }
    const Graph integer = integer_graph(file, numerics);
    if (is_refused(GetParam(), numerics)) {
      EXPECT_THROW(Executable{integer}, Error);
      return;
    }
    for (std::size_t k = 0; k < runs.size(); ++k) {
      const auto tensors = tensors_of(integer, file, runs[k].inputs);
      std::map<int, Tensor> wanted = runs[k].results;
      if (k == 0) {
        wanted.merge(golden_layers(GetParam(), runtime));
      }
      for (const auto& [tensor, result] : wanted) {
        ASSERT_TRUE(tensors.contains(tensor)) << tensor;
        const Apart difference = apart(tensors.at(tensor), result);
        EXPECT_EQ(difference.different, 0U)
            << "of " << difference.elements << ", by up to " << difference.most << " in '"
            << file.tensors[static_cast<std::size_t>(tensor)].name << "'";
      }
    }
  }
};

class TfliteOperator : public TfliteNumerics {};

TEST_P(TfliteOperator, EqualsTheReferenceKernels) {
  expect_equal(Numerics::kTfliteRef, "tflm");
}

TEST_P(TfliteOperator, EqualsTheOptimizedKernels) {
  if (GetParam().name == "sum_u8") {
    GTEST_SKIP() << "sums of uint8 wrapped in the version that made the results";
  }
  expect_equal(Numerics::kTfliteBuiltin, "builtin");
}

TEST_P(TfliteOperator, EqualsXnnpack) {
  expect_equal(Numerics::kTfliteXnn, "litert");
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TfliteOperator);
INSTANTIATE_TEST_SUITE_P(Files, TfliteOperator, ::testing::ValuesIn(golden_operators()),
                         [](const auto& info) { return info.param.name; });

class TfliteNetwork : public TfliteNumerics {};

TEST_P(TfliteNetwork, EqualsTheReferenceKernelsInEveryActivation) {
  expect_equal(Numerics::kTfliteRef, "tflm");
}

TEST_P(TfliteNetwork, EqualsTheOptimizedKernelsInEveryActivation) {
  if (GetParam().name == "kws_svdf_8bit") {
    GTEST_SKIP() << "states of SVDF wrapped in the version that made the results";
  }
  if (GetParam().name == "person_detect_i8") {
    GTEST_SKIP() << "begins with a depthwise convolution of one channel, which in ONNX is a "
                    "convolution, and these kernels round differently";
  }
  expect_equal(Numerics::kTfliteBuiltin, "builtin");
}

TEST_P(TfliteNetwork, EqualsXnnpackInEveryActivation) {
  expect_equal(Numerics::kTfliteXnn, "litert");
}

std::vector<Golden> quantized(std::vector<Golden> all) {
  std::erase_if(all, [](const Golden& golden) {
    return golden.name.ends_with("f32") || golden.name.ends_with("hybrid");
  });
  return all;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TfliteNetwork);
INSTANTIATE_TEST_SUITE_P(Files, TfliteNetwork,
                         ::testing::ValuesIn(quantized(golden_networks())),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tare::test
