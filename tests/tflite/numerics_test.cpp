// What the executor computes with the numerics of TensorFlow Lite, against what its
// interpreters computed.
#include "tare/error.h"

#include "tflite/golden.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace tare {
namespace {

using testing::Apart;
using testing::Golden;

/// Operators that the importer has no rule for, or no integer form.
bool is_unsupported(const Golden& golden) {
  for (const char* name : {"sqdiff", "bmm", "sum", "log_softmax", "elu"}) {
    if (golden.name.starts_with(name)) {
      return true;
    }
  }
  return false;
}

std::vector<Golden> without_unsupported(std::vector<Golden> all) {
  std::erase_if(all, is_unsupported);
  return all;
}

class TfliteOperator : public ::testing::TestWithParam<Golden> {
 protected:
  void expect_equal(Numerics numerics, const std::string& runtime) const {
    const tflite::ModelFile file(GetParam().model);
    const auto runs = testing::golden_runs(GetParam(), file, runtime);
    if (runs.empty()) {
      GTEST_SKIP() << "no results of " << runtime;
    }
    const Graph integer = testing::integer_graph(file, numerics);
    for (const auto& run : runs) {
      const auto tensors = testing::tensors_of(integer, file, run.inputs);
      for (const auto& [tensor, wanted] : run.results) {
        ASSERT_TRUE(tensors.contains(tensor)) << print(integer, 8);
        const Apart difference = testing::apart(tensors.at(tensor), wanted);
        EXPECT_EQ(difference.different, 0U)
            << "of " << difference.elements << ", by up to " << difference.most;
      }
    }
  }
};

TEST_P(TfliteOperator, EqualsTheReferenceKernels) {
  expect_equal(Numerics::kTfliteRef, "tflm");
}

INSTANTIATE_TEST_SUITE_P(Files, TfliteOperator,
                         ::testing::ValuesIn(without_unsupported(testing::golden_operators())),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tare
