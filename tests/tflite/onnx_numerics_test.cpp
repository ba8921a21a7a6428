// How far ONNX's rounding is from XNNPACK, which TensorFlow Lite runs by default, operator by
// operator: each on the stored activations of its operands, so that no error is carried on.
#include "tflite/golden.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

using Totals = std::map<std::string, Apart>;

/// Whether all of its operands and results that are computed are bytes.
bool is_quantized(const tflite::ModelFile& file, const tflite::FileOperator& op) {
  const auto is_byte = [&](int index) {
    const auto& tensor = file.tensors[static_cast<std::size_t>(std::max(index, 0))];
    return index < 0 || tensor.constant ||
           (tensor.type.quant && size_of(tensor.type.dtype) == 1);
  };
  return std::all_of(op.inputs.begin(), op.inputs.end(), is_byte) &&
         std::all_of(op.outputs.begin(), op.outputs.end(), is_byte);
}

/// Adds what operator i of the model computes from these activations.
void compare(const Golden& golden, std::size_t i, const std::map<int, Tensor>& activations,
             Totals& totals) {
  tflite::ModelFile file(golden.model);
  const std::string op = file.operators[i].name;
  if (!is_quantized(file, file.operators[i])) {
    return;
  }
  keep_operator(file, i);
  const auto known = [&](int tensor) { return activations.contains(tensor); };
  if (!std::all_of(file.inputs.begin(), file.inputs.end(), known) ||
      !std::all_of(file.outputs.begin(), file.outputs.end(), known)) {
    return;
  }
  const Graph integer = integer_graph(file, Numerics::kOnnx);
  const auto tensors = tensors_of(integer, file, activations);
  for (const int output : file.outputs) {
    totals[op] += apart(tensors.at(output), activations.at(output));
  }
}

Totals totals() {
  Totals result;
  for (const Golden& golden : golden_networks()) {
    std::map<int, Tensor> activations = golden_layers(golden, "default");
    if (activations.empty()) {
      continue;
    }
    const tflite::ModelFile file(golden.model);
    activations.merge(golden_runs(golden, file, "default").at(0).inputs);
    for (std::size_t i = 0; i < file.operators.size(); ++i) {
      compare(golden, i, activations, result);
    }
  }
  for (const Golden& golden : golden_operators()) {
    const tflite::ModelFile file(golden.model);
    for (auto& run : golden_runs(golden, file, "default")) {
      run.inputs.merge(run.results);
      compare(golden, 0, run.inputs, result);
    }
  }
  return result;
}

TEST(OnnxNumerics, IsThatOfXnnpackUpToOneInTenThousandSumsByOneStep) {
  const Totals all = totals();
  if (all.empty()) {
    GTEST_SKIP() << "no stored results";
  }
  std::printf("%-26s %10s %10s %9s %5s\n", "operator", "elements", "different", "percent",
              "most");
  for (const auto& [op, total] : all) {
    const double percent =
        100 * static_cast<double>(total.different) / static_cast<double>(total.elements);
    std::printf("%-26s %10zu %10zu %8.4f%% %5g\n", op.c_str(), total.elements, total.different,
                percent, total.most);
  }
  // One product in float32 rounds once more than the exact one: next to never across a half.
  constexpr double kNextToNever = 1e-4;
  for (const char* op : {"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "MEAN", "MUL"}) {
    const Apart& total = all.at(op);
    EXPECT_LE(static_cast<double>(total.different),
              kNextToNever * static_cast<double>(total.elements))
        << op;
    EXPECT_LE(total.most, 1) << op;
  }
}

}  // namespace
}  // namespace tare::test
