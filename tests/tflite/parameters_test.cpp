// Scales, zero points and axes of a .tflite file are in the canonical graph and in the exported
// ONNX file, to the last bit.

#include "tare/integer_graph.h"
#include "tare/model_files.h"
#include "tare/quantize.h"

#include "graph/operators/permute.h"
#include "support/files/folder.h"
#include "support/same_structure.h"
#include "tflite/golden.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Parameters without the axis: scales and zero points, one or for each channel.
using Numbers = std::pair<std::vector<float>, std::vector<std::int32_t>>;

Numbers numbers_of(const QuantParams& params) {
  return {params.scale.to_vector(), params.zero_point.to_vector()};
}

/// Every storage value of the graph by the name of its tensor. Extents along the axis of scales
/// are as many as these: verify() has looked.
std::map<std::string, std::vector<TensorType>> stored_values(const Graph& integer) {
  std::map<std::string, std::vector<TensorType>> result;
  for (const ValueId value : integer.values()) {
    const TensorType& type = integer.type(value);
    if (type.quant && !type.point.empty()) {
      result[type.point].push_back(type);
    }
  }
  return result;
}

/// Where an axis of the file's weights is in the graph, by the shape that became of them.
std::optional<int> moved_axis(const tflite::FileTensor& tensor, const Shape& shape) {
  for (const std::vector<std::int64_t>& order :
       {std::vector<std::int64_t>{0, 3, 1, 2}, {3, 0, 1, 2}, {0, 1}, {1, 0}}) {
    if (order.size() == shape.size() && permuted(tensor.type.shape, order) == shape) {
      return *permuted(tensor.type, order).quant->axis;
    }
  }
  return std::nullopt;
}

/// Tensors that operators read or write, and that hold storage values.
std::vector<const tflite::FileTensor*> quantized_tensors(const tflite::ModelFile& file) {
  std::set<int> used(file.inputs.begin(), file.inputs.end());
  for (const auto& op : file.operators) {
    used.insert(op.inputs.begin(), op.inputs.end());
    used.insert(op.outputs.begin(), op.outputs.end());
  }
  std::vector<const tflite::FileTensor*> result;
  for (const int index : used) {
    if (index >= 0 && file.tensors[static_cast<std::size_t>(index)].type.quant) {
      result.push_back(&file.tensors[static_cast<std::size_t>(index)]);
    }
  }
  return result;
}

class TfliteParameters : public ::testing::TestWithParam<Golden> {};

TEST_P(TfliteParameters, AreInTheCanonicalGraph) {
  const tflite::ModelFile file(GetParam().model);
  const auto values = stored_values(integer_graph(file, Numerics::kOnnxRuntime));
  for (const tflite::FileTensor* tensor : quantized_tensors(file)) {
    const auto found = values.find(tensor->name);
    ASSERT_NE(found, values.end()) << tensor->name;
    for (const TensorType& type : found->second) {
      EXPECT_EQ(numbers_of(*type.quant), numbers_of(*tensor->type.quant)) << tensor->name;
      EXPECT_EQ(type.dtype, tensor->type.dtype) << tensor->name;
      if (tensor->type.quant->axis) {
        EXPECT_EQ(type.quant->axis, moved_axis(*tensor, type.shape)) << tensor->name;
      }
    }
  }
}

TEST_P(TfliteParameters, OfSumsAreTheProductsThatTheFileSays) {
  const tflite::ModelFile file(GetParam().model);
  const Graph integer = integer_graph(file, Numerics::kOnnxRuntime);
  for (const NodeId id : integer.nodes()) {
    const Node& node = integer.node(id);
    const auto& sum = integer.type(node.outputs[0]).quant;
    if (!sum || sum->storage != DType::kInt32) {
      continue;
    }
    const QuantParams& x = *integer.type(node.inputs[0]).quant;
    const QuantParams& w = *integer.type(node.inputs[1]).quant;
    ASSERT_EQ(sum->scale.size(), w.scale.size());
    for (std::size_t c = 0; c < w.scale.size(); ++c) {
      EXPECT_EQ(sum->scale[c], x.scale[0] * w.scale[c]);
    }
  }
}

class TfliteParametersInFiles : public InFolder,
                                public ::testing::WithParamInterface<Golden> {};

TEST_P(TfliteParametersInFiles, AreThoseOfTheCanonicalGraph) {
  const tflite::ModelFile file(GetParam().model);
  const Toolkit& toolkit = Toolkit::builtin();
  for (const Graph& integer : {integer_graph(file, Numerics::kOnnxRuntime),
                               integer_graph(file, read_target("ort-cpu"))}) {
    for (const Form form : {Form::kQdq, Form::kQoperator}) {
      write_onnx(export_form(integer, form), path("model.onnx"));
      const Graph again =
          lower_quantized(load_model(path("model.onnx"), {}, nullptr), {}, toolkit);
      EXPECT_EQ(structural_difference(integer, again), "")
          << "in form " << static_cast<int>(form);
    }
  }
}

/// Scales of the file are those of each value, zero points too or 128 higher.
TEST_P(TfliteParameters, MoveWithTheStorageOfTheTarget) {
  const tflite::ModelFile file(GetParam().model);
  const auto values = stored_values(integer_graph(file, read_target("ort-cpu")));
  for (const tflite::FileTensor* tensor : quantized_tensors(file)) {
    const auto found = values.find(tensor->name);
    ASSERT_NE(found, values.end()) << tensor->name;
    for (const TensorType& type : found->second) {
      const QuantParams& before = *tensor->type.quant;
      const std::int32_t by = before.storage == type.dtype  ? 0
                              : type.dtype == DType::kUint8 ? 128
                                                            : -128;
      EXPECT_EQ(type.quant->scale, before.scale) << tensor->name;
      ASSERT_EQ(type.quant->zero_point.size(), before.zero_point.size()) << tensor->name;
      for (std::size_t c = 0; c < before.zero_point.size(); ++c) {
        EXPECT_EQ(type.quant->zero_point[c], before.zero_point[c] + by) << tensor->name;
      }
    }
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TfliteParameters);
INSTANTIATE_TEST_SUITE_P(Files, TfliteParameters, ::testing::ValuesIn(golden_networks()),
                         [](const auto& info) { return info.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TfliteParametersInFiles);
INSTANTIATE_TEST_SUITE_P(Files, TfliteParametersInFiles, ::testing::ValuesIn(golden_networks()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tare::test
