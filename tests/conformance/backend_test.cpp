#include "tare/error.h"
#include "tare/execute.h"

#include "conformance/backend_case.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <map>
#include <set>

#include <gtest/gtest.h>

namespace tare::testing {
namespace {

/// Operators whose every node test at types of the toolkit must run, and pass.
const std::set<std::string> kRequired{"Abs",
                                      "Add",
                                      "And",
                                      "ArgMax",
                                      "AveragePool",
                                      "BatchNormalization",
                                      "Cast",
                                      "Ceil",
                                      "Clip",
                                      "Concat",
                                      "ConstantOfShape",
                                      "Conv",
                                      "ConvInteger",
                                      "ConvTranspose",
                                      "CumSum",
                                      "DepthToSpace",
                                      "DequantizeLinear",
                                      "Div",
                                      "DynamicQuantizeLinear",
                                      "Elu",
                                      "Equal",
                                      "Erf",
                                      "Exp",
                                      "Expand",
                                      "Flatten",
                                      "Floor",
                                      "Gather",
                                      "GatherElements",
                                      "Gemm",
                                      "GlobalAveragePool",
                                      "GlobalMaxPool",
                                      "Greater",
                                      "HardSigmoid",
                                      "HardSwish",
                                      "Identity",
                                      "InstanceNormalization",
                                      "LRN",
                                      "LayerNormalization",
                                      "LeakyRelu",
                                      "Less",
                                      "Log",
                                      "LogSoftmax",
                                      "MatMul",
                                      "MatMulInteger",
                                      "Max",
                                      "MaxPool",
                                      "Min",
                                      "Mul",
                                      "Neg",
                                      "Not",
                                      "Or",
                                      "PRelu",
                                      "Pad",
                                      "Pow",
                                      "QLinearConv",
                                      "QLinearMatMul",
                                      "QuantizeLinear",
                                      "Range",
                                      "Reciprocal",
                                      "ReduceL2",
                                      "ReduceMax",
                                      "ReduceMean",
                                      "ReduceMin",
                                      "ReduceProd",
                                      "ReduceSum",
                                      "Relu",
                                      "Reshape",
                                      "Resize",
                                      "Round",
                                      "Shape",
                                      "Sigmoid",
                                      "Slice",
                                      "Softmax",
                                      "Softplus",
                                      "SpaceToDepth",
                                      "Split",
                                      "Sqrt",
                                      "Squeeze",
                                      "Sub",
                                      "Tanh",
                                      "Tile",
                                      "TopK",
                                      "Transpose",
                                      "Unsqueeze",
                                      "Upsample",
                                      "Where"};

/// What became of the cases, for the summary.
struct Tally {
  std::size_t passed = 0;
  std::size_t failed = 0;
  std::map<std::string, std::vector<std::string>> skipped;  ///< by reason
};

Tally& tally() {
  static Tally instance;
  return instance;
}

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  const std::filesystem::path root(TARE_ONNX_TEST_DATA);
  for (const char* group : {"node", "simple", "pytorch-operator", "pytorch-converted"}) {
    if (root.empty() || !std::filesystem::exists(root / group)) {
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(root / group)) {
      names.push_back(std::string(group) + "/" + entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

/// Integers and truth values equal, floats within the tolerance of onnx's own runner
/// (onnx/backend/test/loader): relative 1e-3, absolute 1e-7.
void expect_close(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.dtype(), expected.dtype());
  ASSERT_EQ(actual.shape(), expected.shape());
  if (!is_float(expected.dtype())) {
    EXPECT_EQ(actual.to_int64(), expected.to_int64());
    return;
  }
  const auto a = actual.to_double();
  const auto e = expected.to_double();
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == e[i] || (std::isnan(a[i]) && std::isnan(e[i]));
    ASSERT_TRUE(same || std::abs(a[i] - e[i]) <= 1e-7 + 1e-3 * std::abs(e[i]))
        << "element " << i << " is " << a[i] << ", expected " << e[i];
  }
}

class OnnxBackend : public ::testing::TestWithParam<std::string> {
 protected:
  /// Counts the outcome, whatever ended the test.
  void TearDown() override {
    if (!IsSkipped()) {
      ++(HasFailure() ? tally().failed : tally().passed);
    }
  }

  /// Runs all data sets; throws NotInScope.
  static void run(const BackendCase& test) {
    for (std::size_t set = 0; set < test.data_sets(); ++set) {
      const DataSet data = test.data(set);
      const std::vector<Tensor> results = execute(test, set, data.inputs);
      ASSERT_EQ(results.size(), data.outputs.size());
      for (std::size_t i = 0; i < results.size(); ++i) {
        SCOPED_TRACE("data set " + std::to_string(set) + ", output " + std::to_string(i));
        expect_close(results[i], data.outputs[i]);
      }
    }
  }

 private:
  static std::vector<Tensor> execute(const BackendCase& test, std::size_t set,
                                     const std::vector<Tensor>& inputs) try {
    const Graph graph = test.graph(set);
    return Executable(graph).run(inputs);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) {
      throw;
    }
    throw NotInScope(error.faults().front().what);
  }
};

/// The reason without the name of the node and the like, so that equal ones are grouped.
std::string group_of(std::string reason) {
  return reason.substr(0, reason.find(" (node"));
}

/// Whether an operator that must run does not, for a reason other than those agreed upon: types
/// the toolkit does not have, models older than it reads, training.
bool is_gap(const BackendCase& test, const std::string& reason) {
  constexpr std::array kAgreed{"element type", "values that are no tensors",
                               "operators of domain", "the model is of opset", "training mode"};
  const auto& ops = test.ops();
  return std::all_of(ops.begin(), ops.end(),
                     [](const std::string& op) { return kRequired.contains(op); }) &&
         std::none_of(kAgreed.begin(), kAgreed.end(), [&](const char* excuse) {
           return reason.find(excuse) != std::string::npos;
         });
}

TEST_P(OnnxBackend, Agrees) {
  const BackendCase test(std::filesystem::path(TARE_ONNX_TEST_DATA) / GetParam());
  try {
    run(test);
  } catch (const NotInScope& limit) {
    if (is_gap(test, limit.what())) {
      FAIL() << limit.what();
    }
    tally().skipped[group_of(limit.what())].push_back(GetParam());
    GTEST_SKIP() << limit.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Case, OnnxBackend, ::testing::ValuesIn(case_names()), test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnnxBackend);

TEST(OnnxBackendData, IsInstalled) {
  if (case_names().empty()) {
    GTEST_SKIP() << "the backend tests of the onnx project (libonnx-testdata) were not found";
  }
  EXPECT_GT(case_names().size(), kRequired.size());
}

class Summary : public ::testing::Environment {
 public:
  void TearDown() override {
    std::size_t skipped = 0;
    for (const auto& [reason, names] : tally().skipped) {
      skipped += names.size();
    }
    std::cout << "onnx backend tests: " << tally().passed + tally().failed << " ran, "
              << tally().passed << " passed, " << tally().failed << " failed, " << skipped
              << " skipped\n";
    for (const auto& [reason, names] : tally().skipped) {
      std::cout << "  " << names.size() << " skipped: " << reason << " (" << names.front()
                << (names.size() > 1 ? ", ..." : "") << ")\n";
    }
  }
};

}  // namespace
}  // namespace tare::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::AddGlobalTestEnvironment(new tare::testing::Summary);
  return RUN_ALL_TESTS();
}
