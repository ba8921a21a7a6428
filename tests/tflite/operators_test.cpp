// Every row of the table of operators, on a few numbers whose results are known.
#include "tflite/operators.h"

#include "tare/execute.h"
#include "tare/model_files.h"

#include "support/files/folder.h"
#include "tflite/import.h"
#include "tflite/row_cases.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

class TfliteRow : public InFolder, public ::testing::WithParamInterface<RowCase> {
 protected:
  static void expect_results(const Graph& graph) {
    const RowCase& one = GetParam();
    std::vector<Tensor> given;
    for (const RowOperand& operand : one.operands) {
      if (operand.is_input()) {
        given.push_back(operand.values);
      }
    }
    const std::vector<Tensor> computed = Executable(graph).run(given);
    ASSERT_EQ(computed.size(), one.results.size());
    for (std::size_t k = 0; k < computed.size(); ++k) {
      const Tensor& wanted = one.results[k].values;
      ASSERT_EQ(computed[k].shape(), wanted.shape());
      ASSERT_EQ(computed[k].dtype(), wanted.dtype());
      const auto ours = computed[k].to_double();
      const auto theirs = wanted.to_double();
      for (std::size_t i = 0; i < ours.size(); ++i) {
        // Some roundings in float32.
        EXPECT_NEAR(ours[i], theirs[i], 1e-6 * std::max(1.0, std::abs(theirs[i]))) << i;
      }
    }
  }
};

TEST_P(TfliteRow, ComputesWhatTensorFlowLiteDefines) {
  expect_results(tflite::import_model(tflite::ModelFile(file_of(GetParam()))));
}

TEST_P(TfliteRow, ComputesTheSameFromAnOnnxFile) {
  write_onnx(tflite::import_model(tflite::ModelFile(file_of(GetParam()))), path("row.onnx"));
  expect_results(load_model(path("row.onnx"), {}, nullptr));
}

INSTANTIATE_TEST_SUITE_P(Table, TfliteRow, ::testing::ValuesIn(row_cases()),
                         [](const auto& info) {
                           const RowCase& one = info.param;
                           return one.custom.empty()
                                      ? std::string(tflite::schema::EnumNameBuiltin(one.code))
                                      : one.custom + std::to_string(info.index);
                         });

TEST(TfliteRows, AllHaveACase) {
  std::set<std::pair<tflite::schema::Builtin, std::string>> covered;
  for (const RowCase& one : row_cases()) {
    covered.emplace(one.code, one.custom);
  }
  std::string missing;
  for (const tflite::OperatorRule& rule : tflite::operator_rules()) {
    const std::string custom(rule.custom);
    missing += covered.contains({rule.code, custom})
                   ? ""
                   : (missing.empty() ? "" : " ") +
                         std::string(tflite::schema::EnumNameBuiltin(rule.code)) + custom;
  }
  EXPECT_EQ(missing, "");
}

}  // namespace
}  // namespace tare::test
