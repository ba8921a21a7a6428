#include "tare/execute.h"

#include "conformance/backend_case.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

std::vector<std::string> runtime_cases() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(TARE_RUNTIME_CASES)) {
    if (entry.is_directory()) {
      names.push_back(entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// What differs by more than sums of a few dozen float32 products do, in another order and with
/// another exp; empty: nothing.
std::string difference_of_sums(const Tensor& actual, const Tensor& expected) {
  if (actual.dtype() != expected.dtype() || actual.shape() != expected.shape()) {
    return "the result is " + std::string(name_of(actual.dtype())) + to_string(actual.shape()) +
           " in place of " + to_string(expected.shape());
  }
  const auto a = actual.to_double();
  const auto e = expected.to_double();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(a[i] - e[i]) <= 2e-6 + 2e-5 * std::abs(e[i]))) {
      std::ostringstream text;
      text << "element " << i << " is " << a[i] << ", expected " << e[i];
      return text.str();
    }
  }
  return "";
}

std::string runtime_case_name(const ::testing::TestParamInfo<std::string>& info) {
  return info.param;
}

class RuntimeOperator : public ::testing::TestWithParam<std::string> {};

/// tests/conformance/runtime/generate.py made the cases with ONNX Runtime.
TEST_P(RuntimeOperator, IsReadAsWhatOnnxRuntimeComputes) {
  const BackendCase test(std::filesystem::path(TARE_RUNTIME_CASES) / GetParam());
  ASSERT_EQ(test.data_sets(), 1U);
  const DataSet data = test.data(0);
  const std::vector<Tensor> results = Executable(test.graph(0)).run(data.inputs);
  ASSERT_EQ(results.size(), data.outputs.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(difference_of_sums(results[i], data.outputs[i]), "") << "output " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Case, RuntimeOperator, ::testing::ValuesIn(runtime_cases()),
                         runtime_case_name);

}  // namespace
}  // namespace tare::test
