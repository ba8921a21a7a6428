#include "tare/error.h"
#include "tare/execute.h"
#include "tare/graph.h"
#include "tare/model_files.h"

#include "conformance/backend_case.h"
#include "docs/reference_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Operators whose every node test at types of the toolkit must run, and pass.
const std::set<std::string> kRequired{"Abs",
                                      "Add",
                                      "And",
                                      "ArgMax",
                                      "AveragePool",
                                      "BatchNormalization",
                                      "BlackmanWindow",
                                      "Cast",
                                      "Ceil",
                                      "Clip",
                                      "Compress",
                                      "Concat",
                                      "ConstantOfShape",
                                      "Conv",
                                      "ConvInteger",
                                      "ConvTranspose",
                                      "CumSum",
                                      "DFT",
                                      "DepthToSpace",
                                      "DequantizeLinear",
                                      "Det",
                                      "Div",
                                      "DynamicQuantizeLinear",
                                      "Einsum",
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
                                      "GridSample",
                                      "HammingWindow",
                                      "HannWindow",
                                      "HardSigmoid",
                                      "HardSwish",
                                      "Identity",
                                      "If",
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
                                      "MaxUnpool",
                                      "MeanVarianceNormalization",
                                      "MelWeightMatrix",
                                      "Min",
                                      "Mul",
                                      "Neg",
                                      "NegativeLogLikelihoodLoss",
                                      "NonMaxSuppression",
                                      "NonZero",
                                      "Not",
                                      "OneHot",
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
                                      "ReverseSequence",
                                      "RoiAlign",
                                      "Round",
                                      "STFT",
                                      "Scan",
                                      "Shape",
                                      "Shrink",
                                      "Sigmoid",
                                      "Slice",
                                      "Softmax",
                                      "SoftmaxCrossEntropyLoss",
                                      "Softplus",
                                      "SpaceToDepth",
                                      "Split",
                                      "Sqrt",
                                      "Squeeze",
                                      "Sub",
                                      "Tanh",
                                      "TfIdfVectorizer",
                                      "Tile",
                                      "TopK",
                                      "Transpose",
                                      "Unique",
                                      "Unsqueeze",
                                      "Upsample",
                                      "Where"};

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

std::filesystem::path case_folder(const std::string& name) {
  return std::filesystem::path(TARE_ONNX_TEST_DATA) / name;
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

/// How results differ, empty where they do not: integers and truth values are to be equal,
/// floats within the tolerance of onnx's own runner (onnx/backend/test/loader): relative 1e-3,
/// absolute 1e-7. Those of bfloat16 may differ by one step: the data were truncated to it,
/// while later versions of ONNX round, as we do.
std::string difference(const Tensor& actual, const Tensor& expected) {
  if (actual.dtype() != expected.dtype() || actual.shape() != expected.shape()) {
    return "the result is " + std::string(name_of(actual.dtype())) + to_string(actual.shape());
  }
  if (!is_float(expected.dtype())) {
    return actual.to_int64() == expected.to_int64() ? "" : "integers differ";
  }
  const double relative = expected.dtype() == DType::kBfloat16 ? 0x1p-7 : 1e-3;
  const auto a = actual.to_double();
  const auto e = expected.to_double();
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == e[i] || (std::isnan(a[i]) && std::isnan(e[i]));
    if (!same && !(std::abs(a[i] - e[i]) <= 1e-7 + relative * std::abs(e[i]))) {
      std::ostringstream text;
      text << "element " << i << " is " << a[i] << ", expected " << e[i];
      return text.str();
    }
  }
  return "";
}

/// The results of the model, of which the graph has computed its own.
std::vector<Tensor> with_tail(const Graph& graph, const std::vector<Tensor>& inputs,
                              const std::vector<Tensor>& results) {
  std::map<std::string, Tensor> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values.emplace(graph.name(graph.inputs()[i]), inputs[i]);
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    values.emplace(graph.name(graph.outputs()[i]), results[i]);
  }
  values.merge(TailRunner(*graph.tail).run(values, evaluate));
  std::vector<Tensor> all;
  for (const std::string& name : model_outputs(graph)) {
    const auto found = values.find(name);
    if (found == values.end()) {
      throw NotInScope(graph.tail->operators.front().op + ": " +
                       graph.tail->operators.front().reason);
    }
    all.push_back(found->second);
  }
  return all;
}

std::vector<Tensor> execute(const BackendCase& test, std::size_t set,
                            const std::vector<Tensor>& inputs) try {
  const Graph graph = test.graph(set);
  std::vector<Tensor> results = Executable(graph).run(inputs);
  return graph.tail ? with_tail(graph, inputs, results) : results;
} catch (const Error& error) {
  if (error.code() != ErrorCode::kUnsupported) {
    throw;
  }
  throw NotInScope(error.faults().front().what);
}

/// ONNX says how random numbers are distributed, not which they are.
bool draws_random_numbers(const BackendCase& test) {
  return std::any_of(test.ops().begin(), test.ops().end(), [](const std::string& op) {
    return op == "Bernoulli" || op == "Multinomial" || op.starts_with("Random");
  });
}

/// Runs all data sets; what the first result that differs says. Throws NotInScope.
std::string run(const BackendCase& test) {
  if (draws_random_numbers(test)) {
    throw NotInScope("its results are random numbers");
  }
  for (std::size_t set = 0; set < test.data_sets(); ++set) {
    const DataSet data = test.data(set);
    const std::vector<Tensor> results = execute(test, set, data.inputs);
    if (results.size() != data.outputs.size()) {
      return std::to_string(results.size()) + " results";
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (const std::string text = difference(results[i], data.outputs[i]); !text.empty()) {
        return "data set " + std::to_string(set) + ", output " + std::to_string(i) + ": " +
               text;
      }
    }
  }
  return "";
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

class OnnxBackend : public ::testing::TestWithParam<std::string> {};

TEST_P(OnnxBackend, Agrees) {
  const BackendCase test(case_folder(GetParam()));
  try {
    EXPECT_EQ(run(test), "");
  } catch (const NotInScope& limit) {
    if (is_gap(test, limit.what())) {
      FAIL() << limit.what();
    }
    GTEST_SKIP() << limit.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Case, OnnxBackend, ::testing::ValuesIn(case_names()), test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnnxBackend);

TEST(OnnxBackendData, IsInstalled) {
  if (case_names().empty()) {
    GTEST_SKIP() << "the backend tests of the onnx project (libonnx-testdata) were not found";
  }
  std::set<std::string> tried;
  for (const std::string& name : case_names()) {
    const BackendCase test(case_folder(name));
    tried.insert(test.ops().begin(), test.ops().end());
  }
  for (const std::string& op : kRequired) {
    EXPECT_TRUE(tried.contains(op))
        << op << " is required to pass tests that there are none of";
  }
}

/// The reason without the name of the node and the like, so that equal ones are grouped.
std::string group_of(const std::string& reason) {
  return reason.substr(0, reason.find(" (node"));
}

struct Counts {
  std::size_t passed = 0;
  std::size_t failed = 0;
  std::size_t skipped = 0;

  Counts& operator+=(const Counts& other) {
    passed += other.passed;
    failed += other.failed;
    skipped += other.skipped;
    return *this;
  }
};

Row row_of(const std::string& name, const Counts& counts) {
  return {name, std::to_string(counts.passed), std::to_string(counts.failed),
          std::to_string(counts.skipped)};
}

TEST(Reference, SaysWhichBackendTestsRun) {
  std::map<std::string, std::vector<std::string>> skipped;
  std::map<std::string, Counts> counts;
  for (const std::string& name : case_names()) {
    Counts& of_group = counts[name.substr(0, name.find('/'))];
    try {
      ++(run(BackendCase(case_folder(name))).empty() ? of_group.passed : of_group.failed);
    } catch (const NotInScope& limit) {
      ++of_group.skipped;
      skipped[group_of(limit.what())].push_back(name);
    }
  }
  if (counts.empty()) {
    GTEST_SKIP() << "the backend tests of the onnx project (libonnx-testdata) were not found";
  }
  std::vector<Row> rows;
  Counts all;
  for (const auto& [group, of_group] : counts) {
    rows.push_back(row_of(group, of_group));
    all += of_group;
  }
  rows.push_back(row_of("in all", all));
  std::string text = reference_page(
      "tests/conformance/backend_test.cpp", "Backend tests of ONNX",
      "How much of ONNX the executor runs correctly: what becomes of the test cases of the "
      "onnx project (Debian's\nlibonnx-testdata). Each is a test, `ctest --preset release "
      "-R OnnxBackend`. Those of the group `real` are not counted, as\nthe package has "
      "addresses in place of their models.");
  text += table({"cases", "passed", "failed", "skipped"}, rows) + "\nSkipped are:\n";
  for (const auto& [reason, names] : skipped) {
    text.append("\n**").append(reason).append("**: ").append(std::to_string(names.size()));
    text.append("\n\n");
    for (const std::string& name : names) {
      text.append("- ").append(name).append("\n");
    }
  }
  expect_reference_page("conformance", text);
}

}  // namespace
}  // namespace tare::test
