// What files say beside the model, and whose results are reported of them.
#include "tare/error.h"
#include "tare/model_files.h"

#include "graph/arithmetic/node_arithmetic.h"
#include "lower/forms/forms.h"
#include "support/config.h"
#include "support/files/digits.h"
#include "support/files/files.h"
#include "support/files/folder.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr Form kForms[] = {Form::kQdq, Form::kQoperator, Form::kInteger};

/// How each Requantize rescales.
std::vector<RequantizeMode> modes(const Graph& integer) {
  std::vector<RequantizeMode> result;
  for (const NodeId id : integer.topological_order()) {
    if (integer.node(id).op == "Requantize") {
      result.push_back(requantize_mode(integer.node(id).attributes));
    }
  }
  return result;
}

std::vector<Accumulator> accumulators(const Graph& integer) {
  std::vector<Accumulator> result;
  for (const NodeId id : integer.topological_order()) {
    const std::string& op = integer.node(id).op;
    if (op == "Conv" || op == "Gemm" || op == "MatMul") {
      result.push_back(accumulator(integer.node(id).attributes));
    }
  }
  return result;
}

class FileOfDigits : public InFolder {
 protected:
  QuantizeResult quantized(const std::vector<std::string>& settings) const {
    const Toolkit& toolkit = Toolkit::builtin();
    return quantize(digits_.model, *digits_.data, config_with(settings), toolkit,
                    {.samples = 10});
  }

  Graph read(const std::string& file) const {
    return lower_quantized(load_model(path(file), {}, nullptr), read_file_metadata(path(file)),
                           {}, Toolkit::builtin());
  }

  double sqnr(const std::string& file, std::optional<Numerics> numerics) const {
    const FileMetadata metadata = read_file_metadata(path(file));
    const Report report = compare_models({.real = digits_.model,
                                          .quantized = load_model(path(file), {}, nullptr),
                                          .factors = metadata.factors,
                                          .numerics = numerics},
                                         *digits_.data, with_metadata({}, metadata),
                                         Toolkit::builtin(), {.samples = 20});
    return *report.outputs.at(0).error.sqnr;
  }

  Digits digits_;
};

class FileOfARounding : public FileOfDigits, public ::testing::WithParamInterface<const char*> {
 protected:
  std::vector<std::string> settings() const {
    std::vector<std::string> result{std::string("requantize.rounding=") + GetParam()};
    if (result[0].ends_with("shift")) {
      result.insert(result.begin(),
                    {"activations.power_of_two=true", "weights.power_of_two=true"});
    }
    return result;
  }
};

INSTANTIATE_TEST_SUITE_P(Each, FileOfARounding,
                         ::testing::Values("half_even", "upward", "to_nearest", "tflite_double",
                                           "tflite_single", "shift"),
                         [](const auto& each) { return std::string(each.param); });

TEST_P(FileOfARounding, GivesItBackInEveryForm) {
  const QuantizeResult result = quantized(settings());
  for (const Form form : kForms) {
    write_model(result, path("q.onnx"), form);
    const Graph again = read("q.onnx");
    EXPECT_EQ(modes(again), modes(result.integer));
    EXPECT_FALSE(modes(again).empty());
  }
}

TEST_P(FileOfARounding, IsEvaluatedAsEnginesComputeItUnlessToldOtherwise) {
  const QuantizeResult result = quantized(settings());
  write_model(result, path("q.onnx"));
  write_onnx(to_qdq(with_numerics(result.integer, Numerics::kOnnxRuntime)), path("plain.onnx"),
             {});
  const double of_engine = sqnr("q.onnx", Numerics::kOnnxRuntime);
  EXPECT_NEAR(of_engine, sqnr("plain.onnx", Numerics::kOnnxRuntime), 1e-9);
  const Report report =
      compare_result(result, *digits_.data, Toolkit::builtin(), {.samples = 20});
  EXPECT_NEAR(*report.outputs.at(0).error.sqnr, of_engine, 1e-9);
  if (std::string(GetParam()) == "tflite_double") {
    EXPECT_NE(sqnr("q.onnx", std::nullopt), of_engine) << "the device rounds in another way";
  }
}

TEST_F(FileOfDigits, DiffersForEachRoundingInEachForm) {
  std::set<std::string> files;
  for (const char* rounding :
       {"half_even", "upward", "to_nearest", "tflite_double", "tflite_single"}) {
    const QuantizeResult result = quantized({std::string("requantize.rounding=") + rounding});
    for (const Form form : kForms) {
      write_model(result, path("q.onnx"), form);
      files.insert(bytes_of(path("q.onnx")));
    }
  }
  EXPECT_EQ(files.size(), 15U);
}

TEST_F(FileOfDigits, GivesBackAccumulatorsInEveryForm) {
  const QuantizeResult result = quantized({"accumulator.bits=16", "accumulator.overflow=wrap"});
  for (const Form form : kForms) {
    write_model(result, path("q.onnx"), form);
    const std::vector<Accumulator> again = accumulators(read("q.onnx"));
    EXPECT_EQ(again, accumulators(result.integer));
    EXPECT_EQ(again.at(0), (Accumulator{16, Overflow::kWrap}));
  }
  EXPECT_EQ(accumulators(with_numerics(result.integer, Numerics::kOnnxRuntime)).at(0),
            Accumulator{})
      << "engines add up in 32 bits";
}

/// Names are those of the float network, and values have their points again.
TEST_F(FileOfDigits, GivesBackNamesAndPoints) {
  const QuantizeResult result = quantized({});
  write_model(result, path("q.onnx"));
  const Graph again = read("q.onnx");
  const auto points = [](const Graph& graph) {
    std::map<std::string, std::string> all;
    for (const ValueId value : graph.values()) {
      all.emplace(graph.name(value), graph.type(value).point);
    }
    return all;
  };
  EXPECT_EQ(points(again), points(result.integer));
  const auto nodes = [](const Graph& graph) {
    std::set<std::string> all;
    for (const NodeId id : graph.nodes()) {
      all.insert(graph.node(id).name);
    }
    return all;
  };
  EXPECT_EQ(nodes(again), nodes(result.integer));
}

TEST_F(FileOfDigits, HasThePointsOfTheGraphInOtherFormsToo) {
  const QuantizeResult result = quantized({});
  const auto points = [](const Graph& graph) {
    std::multiset<std::string> all;
    for (const ValueId value : graph.values()) {
      if (graph.type(value).quant) {
        all.insert(graph.type(value).point);
      }
    }
    return all;
  };
  for (const Form form : kForms) {
    write_model(result, path("q.onnx"), form);
    EXPECT_EQ(points(read("q.onnx")), points(result.integer));
  }
}

TEST_F(FileOfDigits, HasShortNamesThatDoNotGrow) {
  const QuantizeResult result = quantized({});
  const Graph prepared = prepare(digits_.model, Toolkit::builtin());
  std::size_t longest = 0;
  for (const ValueId value : prepared.values()) {
    longest = std::max(longest, prepared.name(value).size());
  }
  for (const Form form : kForms) {
    write_model(result, path("first.onnx"), form);
    const Graph first = load_model(path("first.onnx"), {}, nullptr);
    QuantizeResult again = result;
    again.integer = read("first.onnx");
    again.qdq = export_form(again.integer, Form::kQdq, again.simulated.target);
    write_model(again, path("second.onnx"), form);
    const Graph second = load_model(path("second.onnx"), {}, nullptr);
    std::set<std::string> names;
    for (const ValueId value : first.values()) {
      names.insert(first.name(value));
      EXPECT_LE(first.name(value).size(), longest + std::string("_accumulated_1").size())
          << first.name(value);
    }
    for (const ValueId value : second.values()) {
      EXPECT_TRUE(names.contains(second.name(value)) || form != Form::kQdq)
          << second.name(value);
    }
    for (const NodeId id : first.nodes()) {
      const Node& node = first.node(id);
      if (node.op == "Conv" || node.op == "Gemm" || node.op == "Add") {
        EXPECT_TRUE(prepared.find_node(node.name) || form == Form::kInteger) << node.name;
      }
    }
  }
}

TEST_F(FileOfDigits, OfAnotherToolSaysNothing) {
  write_onnx(to_qdq(quantized({}).integer), path("q.onnx"));
  const FileMetadata metadata = read_file_metadata(path("q.onnx"));
  EXPECT_EQ(metadata.arithmetic.usual.requantize, RequantizeMode{});
  EXPECT_EQ(metadata.arithmetic.usual.accumulator, Accumulator{});
  EXPECT_FALSE(metadata.unnamed_points);
  EXPECT_TRUE(metadata.factors.empty());
}

TEST_F(FileOfDigits, WithMetadataThatIsNoneIsRefused) {
  const std::pair<const char*, const char*> kFaults[] = {
      {"tare.arithmetic", ""},
      {"tare.arithmetic", "version=2 rounding=upward"},
      {"tare.arithmetic", "version=1 rounding=down"},
      {"tare.arithmetic", "version=1 rounding=tflite_double arithmetic=float"},
      {"tare.arithmetic", "version=1 rounding=upward rounding=upward"},
      {"tare.arithmetic", "version=1 accumulator_bits=7"},
      {"tare.arithmetic", "version=1 accumulator_bits=16x"},
      {"tare.arithmetic", "version=1 accumulator_bits="},
      {"tare.arithmetic", "version=1 accumulator_bits=99999999999999999999"},
      {"tare.arithmetic", "version=1 accumulator_overflow=explode"},
      {"tare.arithmetic", "version=1 color=red"},
      {"tare.points", "version=1\nvalue"},
      {"tare.points", "version=1\n=point"},
      {"tare.points", "version=1\nva%2=point"},
      {"tare.points", "version=1\na=b\na=c"},
      {"tare.points", "a=b"},
  };
  const Graph qdq = to_qdq(quantized({}).integer);
  for (const auto& [key, text] : kFaults) {
    write_onnx(qdq, path("q.onnx"), {{key, text}});
    try {
      read_file_metadata(path("q.onnx"));
      ADD_FAILURE() << key << ": " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidModel) << text;
      EXPECT_NE(std::string(error.what()).find(key), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace tare::test
