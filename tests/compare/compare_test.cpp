
#include "compare/compare.h"

#include "tare/execute.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"

#include "compare/compared.h"
#include "compare/real_interface.h"
#include "lower/forms/forms.h"
#include "support/files/temporary_folder.h"
#include "support/run.h"
#include "support/visible_part.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// How far results of one float network may be apart, as a part of them: executables that keep
/// other values fuse other operators, and round elsewhere.
constexpr double kRounding = 1e-6;

/// What that is of an error of that size, both as parts of the results.
double of_error(double relative_error) {
  return kRounding * (1 + 1 / relative_error);
}

/// Decibels of a part of an amplitude that is small.
double decibels(double part) {
  return 20 * std::log10(1 + part);
}

/// Sums of the definitions, one element after the other.
struct Definition {
  long double xx = 0, yy = 0, xy = 0, dd = 0;
  std::size_t count = 0;

  void add(const Tensor& x, const Tensor& y) {
    const auto a = x.to_double();
    const auto b = y.to_double();
    for (std::size_t i = 0; i < a.size(); ++i) {
      xx += static_cast<long double>(a[i]) * a[i];
      yy += static_cast<long double>(b[i]) * b[i];
      xy += static_cast<long double>(a[i]) * b[i];
      dd += static_cast<long double>(a[i] - b[i]) * (a[i] - b[i]);
    }
    count += a.size();
  }

  void expect_equal(const Deviation& found, const std::string& where) const {
    if (dd == 0) {
      EXPECT_TRUE(found.exact) << where;
      return;
    }
    const auto expect = [&](std::optional<double> value, long double exact, double tolerance,
                            const char* what) {
      ASSERT_TRUE(value) << where << ' ' << what;
      EXPECT_NEAR(*value, static_cast<double>(exact), tolerance) << where << ' ' << what;
    };
    const auto mse = static_cast<double>(dd / static_cast<long double>(count));
    const auto relative = static_cast<double>(std::sqrt(dd / xx));
    const double part = of_error(relative);
    expect(found.sqnr, 10 * std::log10(xx / dd), decibels(part), "sqnr");
    expect(found.cosine, xy / std::sqrt(xx * yy), kRounding, "cosine");
    expect(found.mse, mse, 2 * part * mse, "mse");
    expect(found.relative_l2, relative, part * relative, "relative l2");
  }
};

Tensor expressed(const Graph& graph, ValueId value, const Tensor& tensor) {
  const auto& params = graph.type(value).quant;
  return params ? dequantize(tensor, *params) : tensor;
}

/// What is compared of a layer's result: all of it, or what a Relu behind a sum shows.
void add_visible(const Graph& prepared, const std::string& value,
                 const std::map<std::string, Tensor>& real, const Tensor& quantized,
                 Definition& sums) {
  const std::string other = other_operand(prepared, value);
  if (other.empty()) {
    sums.add(real.at(value), quantized);
  } else {
    sums.add(visible_part(real.at(value), real.at(other)),
             visible_part(quantized, real.at(other)));
  }
}

class Compare : public ::testing::TestWithParam<TestModel> {};

/// A convolutional network, one with residuals, and a transformer, of those that are there.
std::vector<TestModel> some_models() {
  std::vector<TestModel> models = test_models();
  std::erase_if(models, [](const TestModel& model) {
    return model.name != "digits" && model.name != "kws_dscnn" &&
           model.name != "resnet20_op17" && model.name != "sst2_op13";
  });
  return models;
}

INSTANTIATE_TEST_SUITE_P(Models, Compare, ::testing::ValuesIn(some_models()),
                         [](const auto& given) { return given.param.name; });

constexpr std::size_t kCompared = 3;

/// By point, the value of the integer graph that was rounded there; what only moves its
/// elements comes later.
std::map<std::string, ValueId> storage_values(const Graph& integer) {
  std::map<std::string, ValueId> by_point;
  for (const NodeId id : integer.topological_order()) {
    const ValueId value = integer.node(id).outputs[0];
    const TensorType& type = integer.type(value);
    if (!type.point.empty() && type.quant && type.quant->storage != DType::kInt32) {
      by_point.emplace(type.point, value);
    }
  }
  return by_point;
}

TEST_P(Compare, CumulativeErrorsAreThoseOfTheValuesOfBothGraphs) {
  const Compared compared(GetParam());
  const Report report = compared.report({.samples = kCompared});
  const Graph& prepared = compared.real();
  const Graph& integer = compared.result.integer;
  const auto storage = storage_values(integer);
  std::map<std::string, Definition> wanted;
  std::map<std::string, Definition> rounding;
  std::map<std::string, Definition> outputs;
  for (std::size_t sample = 0; sample < kCompared; ++sample) {
    const auto real = values_of(prepared, inputs_of(prepared, *compared.data, sample), true);
    const auto quantized = values_of(integer, inputs_of(integer, *compared.data, sample), true);
    for (const auto& [point, value] : storage) {
      add_visible(prepared, point, real,
                  expressed(integer, value, quantized.at(integer.name(value))), wanted[point]);
      const QuantParams& params = *integer.type(value).quant;
      rounding[point].add(real.at(point), dequantize(quantize(real.at(point), params), params));
    }
    for (std::size_t i = 0; i < prepared.outputs().size(); ++i) {
      const std::string& name = prepared.name(prepared.outputs()[i]);
      outputs[name].add(real.at(name), quantized.at(integer.name(integer.outputs()[i])));
    }
  }
  std::size_t compared_layers = 0;
  for (const LayerReport& layer : report.layers) {
    if (!layer.point.empty()) {
      ASSERT_TRUE(wanted.contains(layer.point)) << layer.point;
      wanted.at(layer.point).expect_equal(*layer.cumulative, layer.name);
      ++compared_layers;
    }
  }
  EXPECT_GT(compared_layers, 0U);
  for (const PointReport& point : report.points) {
    ASSERT_TRUE(rounding.contains(point.name)) << point.name;
    rounding.at(point.name).expect_equal(point.error, "rounding of " + point.name);
  }
  for (const OutputReport& output : report.outputs) {
    outputs.at(output.name).expect_equal(output.error, output.name);
  }
}

/// A product whose sums are rounded, from exact inputs: quantized by the formulas, evaluated
/// node by node.
Tensor local_result(const Graph& integer, const Node& product, const Node& requantize,
                    const Tensor& exact_input) {
  const ValueId x = product.inputs[0];
  const Tensor rounded = quantize(exact_input, *integer.type(x).quant);
  Graph alone;
  const ValueId input = alone.add_input("x", integer.type(x));
  std::vector<ValueId> operands{input};
  for (std::size_t i = 1; i < product.inputs.size(); ++i) {
    operands.push_back(product.inputs[i]
                           ? alone.add_constant("c" + std::to_string(i),
                                                *integer.constant(product.inputs[i]),
                                                integer.type(product.inputs[i]))
                           : ValueId());
  }
  const NodeId sums =
      alone.add_node("", product.op, operands, {{"sums", integer.type(product.outputs[0])}},
                     product.attributes);
  const NodeId result =
      alone.add_node("", "Requantize", {alone.node(sums).outputs[0]},
                     {{"result", integer.type(requantize.outputs[0])}}, requantize.attributes);
  alone.set_outputs({alone.node(result).outputs[0]});
  const Executable executable(alone);
  return dequantize(executable.run(std::vector<Tensor>{rounded})[0],
                    *integer.type(requantize.outputs[0]).quant);
}

TEST_P(Compare, LocalErrorsAreThoseOfEachProductAloneFromExactInputs) {
  const Compared compared(GetParam());
  const Report report = compared.report({.samples = kCompared});
  const Graph& prepared = compared.real();
  const Graph& integer = compared.result.integer;
  std::map<std::string, Definition> wanted;  // by layer
  for (std::size_t sample = 0; sample < kCompared; ++sample) {
    const auto real = values_of(prepared, inputs_of(prepared, *compared.data, sample), true);
    for (const NodeId id : integer.topological_order()) {
      const Node& requantize = integer.node(id);
      const auto before =
          requantize.op == "Requantize" ? integer.producer(requantize.inputs[0]) : std::nullopt;
      const std::string name = before ? layer_name(integer.node(*before).name) : "";
      const auto original = prepared.find_node(name);
      if (!original || prepared.node(*original).op != integer.node(*before).op) {
        continue;
      }
      const Node& product = integer.node(*before);
      const bool has_weights = (product.op == "Conv" || product.op == "Gemm") &&
                               integer.constant(product.inputs[1]) != nullptr;
      if (has_weights) {
        add_visible(prepared, integer.type(requantize.outputs[0]).point, real,
                    local_result(integer, product, requantize,
                                 real.at(prepared.name(prepared.node(*original).inputs[0]))),
                    wanted[name]);
      }
    }
  }
  std::size_t found = 0;
  for (const LayerReport& layer : report.layers) {
    if (wanted.contains(layer.name)) {
      wanted.at(layer.name).expect_equal(*layer.local, layer.name);
      ++found;
    }
  }
  EXPECT_EQ(found, wanted.size());
  const bool has_convolutions = std::any_of(
      report.layers.begin(), report.layers.end(),
      [](const LayerReport& layer) { return layer.op == "Conv" && !layer.point.empty(); });
  EXPECT_TRUE(found > 0 || !has_convolutions);
}

TEST_P(Compare, ReadsTheExportedFileAsTheGraphThatItWasMadeOf) {
  const Compared compared(GetParam());
  const Report made = compared.report({.samples = kCompared});
  for (const Form form : {Form::kQdq, Form::kQoperator}) {
    const TemporaryFolder folder;
    const std::filesystem::path path = folder / "compared.onnx";
    write_onnx(export_form(compared.result.integer, form, compared.result.simulated.target),
               path, file_metadata(compared.result));
    const Report read = compare_models({.real = compared.model,
                                        .quantized = load_model(path, {}, compared.data.get()),
                                        .factors = read_factors(path),
                                        .numerics = {}},
                                       *compared.data, compared.config, Toolkit::builtin(),
                                       {.samples = kCompared});
    ASSERT_EQ(read.layers.size(), made.layers.size());
    for (std::size_t i = 0; i < read.layers.size(); ++i) {
      EXPECT_EQ(read.layers[i].name, made.layers[i].name);
      EXPECT_EQ(read.layers[i].local->sqnr, made.layers[i].local->sqnr) << made.layers[i].name;
      EXPECT_EQ(read.layers[i].cumulative->sqnr, made.layers[i].cumulative->sqnr)
          << made.layers[i].name;
      EXPECT_EQ(read.layers[i].point, made.layers[i].point);
    }
    EXPECT_EQ(read.outputs[0].error.mse, made.outputs[0].error.mse);
  }
}

TEST(CompareDigits, RanksTheWorstSamples) {
  const Compared compared(test_models()[0]);
  const Report report = compared.report({.samples = 100});
  ASSERT_EQ(report.worst_samples.size(), 20U);
  std::vector<std::pair<double, std::size_t>> all;
  std::vector<std::vector<double>> real;
  run_dataset(compared.real(), *compared.data, 1, 100,
              [&](std::size_t, std::vector<Tensor> outputs) {
                real.push_back(outputs[0].to_double());
              });
  run_dataset(compared.result.integer, *compared.data, 1, 100,
              [&](std::size_t run, std::vector<Tensor> outputs) {
                double xx = 0;
                double dd = 0;
                const auto y = outputs[0].to_double();
                for (std::size_t i = 0; i < y.size(); ++i) {
                  xx += real[run][i] * real[run][i];
                  dd += (y[i] - real[run][i]) * (y[i] - real[run][i]);
                }
                all.emplace_back(10 * std::log10(xx / dd), run);
              });
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < report.worst_samples.size(); ++i) {
    EXPECT_EQ(report.worst_samples[i].index, all[i].second);
    const double relative = std::pow(10, -all[i].first / 20);
    EXPECT_NEAR(report.worst_samples[i].sqnr, all[i].first, decibels(of_error(relative)));
  }
}

/// As files are whose model takes and gives storage values.
Graph without_real_interface(Graph integer) {
  const ValueId input = integer.inputs()[0];
  const Node quantize = integer.node(integer.users(input)[0]);
  EXPECT_EQ(quantize.op, "Quantize");
  const ValueId stored = quantize.outputs[0];
  integer.replace_uses(stored, integer.add_input("stored", integer.type(stored)));
  integer.erase(*integer.producer(stored));
  integer.erase(input);
  const Node dequantize = integer.node(*integer.producer(integer.outputs()[0]));
  EXPECT_EQ(dequantize.op, "Dequantize");
  integer.set_outputs({dequantize.inputs[0]});
  integer.erase_unused();
  return integer;
}

TEST(CompareDigits, TakesAModelOfStorageValuesForWhatTheyExpress) {
  Config all_on_integers;
  all_on_integers.objective = Objective::kCoverage;
  const Compared compared(test_models()[0], all_on_integers);
  const Graph& integer = compared.result.integer;
  const Graph stored = without_real_interface(integer);
  ASSERT_NE(stored.type(stored.inputs()[0]).dtype, DType::kFloat32);
  ASSERT_NE(stored.type(stored.outputs()[0]).dtype, DType::kFloat32);
  const Graph adapted = with_interface_of(compared.real(), stored);
  const Report wanted = compare(compared.real(), integer, *compared.data, {}, {.samples = 20});
  const Report found = compare(compared.real(), adapted, *compared.data, {}, {.samples = 20});
  ASSERT_EQ(found.layers.size(), wanted.layers.size());
  for (std::size_t i = 0; i < found.layers.size(); ++i) {
    EXPECT_EQ(found.layers[i].local->mse, wanted.layers[i].local->mse);
    EXPECT_EQ(found.layers[i].cumulative->mse, wanted.layers[i].cumulative->mse);
  }
  EXPECT_EQ(found.outputs[0].name, "logits");
  EXPECT_EQ(found.outputs[0].error.mse, wanted.outputs[0].error.mse);
  EXPECT_EQ(found.points.size(), wanted.points.size());
}

TEST(CompareDigits, RunsTheQuantizedModelWithTheArithmeticThatIsAskedFor) {
  const Compared compared(test_models()[0]);
  const Graph integer = with_numerics(compared.result.integer, Numerics::kTvmUpward);
  const auto outputs = [&](const Graph& graph) {
    std::vector<Tensor> all;
    run_dataset(graph, *compared.data, 1, 30, [&](std::size_t, std::vector<Tensor> results) {
      all.push_back(std::move(results[0]));
    });
    return all;
  };
  const std::vector<Tensor> real = outputs(compared.real());
  const std::vector<Tensor> quantized = outputs(integer);
  Definition wanted;
  for (std::size_t i = 0; i < real.size(); ++i) {
    wanted.add(real[i], quantized[i]);
  }
  const auto compared_with = [&](std::optional<Numerics> numerics) {
    return compare_models({.real = compared.model,
                           .quantized = to_qdq(compared.result.integer),
                           .factors = compared.result.factors,
                           .numerics = numerics},
                          *compared.data, compared.config, Toolkit::builtin(), {.samples = 30})
        .outputs[0]
        .error;
  };
  wanted.expect_equal(compared_with(Numerics::kTvmUpward), "output");
  EXPECT_NE(compared_with(Numerics::kTvmUpward).mse, compared_with({}).mse);
}

}  // namespace
}  // namespace tare::test
