// Which operators of ONNX have which floating types, by the constraints of its schemas.
#include "graph/operators/float_types.h"

#include "graph/arithmetic/half.h"
#include "graph/operators/inner_graphs.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace tare {
namespace {

/// Float32 only. Conversions and quantized operators are here because their scales are.
constexpr std::array<std::string_view, 21> kFloat32Only{"Celu",
                                                        "ConvInteger",
                                                        "Dequantize",
                                                        "DequantizeLinear",
                                                        "DetectionPostProcess",
                                                        "DynamicQuantizeLSTM",
                                                        "DynamicQuantizeLinear",
                                                        "FakeQuantize",
                                                        "MatMulInteger",
                                                        "MelWeightMatrix",
                                                        "NonMaxSuppression",
                                                        "QLinearConv",
                                                        "QLinearMatMul",
                                                        "Quantize",
                                                        "QuantizeLinear",
                                                        "Region",
                                                        "Requantize",
                                                        "SimulatedDequantize",
                                                        "SimulatedQuantize",
                                                        "TfIdfVectorizer",
                                                        "Upsample"};

/// Float32 and float64, no type of 16 bits.
constexpr std::array<std::string_view, 2> kWideOnly{"IsInf", "Range"};

constexpr std::array<std::string_view, 9> kNeverBfloat16{
    "Compress", "Einsum",          "GlobalLpPool", "OneHot", "Shrink",
    "TopK",     "ReverseSequence", "Unique",       "Scatter"};

/// Some of these have bfloat16 in opsets 14 to 16 already, which is not worth a column.
constexpr std::array<std::string_view, 58> kLateBfloat16{"Acos",
                                                         "Acosh",
                                                         "Asin",
                                                         "Asinh",
                                                         "Atan",
                                                         "Atanh",
                                                         "AveragePool",
                                                         "BatchNormalization",
                                                         "Bernoulli",
                                                         "ConstantOfShape",
                                                         "Conv",
                                                         "ConvTranspose",
                                                         "Cos",
                                                         "Cosh",
                                                         "CumSum",
                                                         "DeformConv",
                                                         "Det",
                                                         "Dropout",
                                                         "Elu",
                                                         "EyeLike",
                                                         "GRU",
                                                         "GlobalAveragePool",
                                                         "GlobalMaxPool",
                                                         "GreaterOrEqual",
                                                         "GridSample",
                                                         "HardSigmoid",
                                                         "HardSwish",
                                                         "InstanceNormalization",
                                                         "LSTM",
                                                         "LeakyRelu",
                                                         "LessOrEqual",
                                                         "LpNormalization",
                                                         "LpPool",
                                                         "MaxPool",
                                                         "MaxRoiPool",
                                                         "MaxUnpool",
                                                         "Mish",
                                                         "Multinomial",
                                                         "NegativeLogLikelihoodLoss",
                                                         "PRelu",
                                                         "Pow",
                                                         "RNN",
                                                         "RandomNormal",
                                                         "RandomNormalLike",
                                                         "RandomUniform",
                                                         "RandomUniformLike",
                                                         "Resize",
                                                         "RoiAlign",
                                                         "Round",
                                                         "Selu",
                                                         "Sin",
                                                         "Sinh",
                                                         "SoftmaxCrossEntropyLoss",
                                                         "Softplus",
                                                         "Softsign",
                                                         "Tan",
                                                         "ThresholdedRelu",
                                                         "Where"};

template <std::size_t N>
bool is_among(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

template <class Element, class Round>
Tensor rounded(const Tensor& tensor, DType dtype, const Round& round) {
  Tensor result(dtype, tensor.shape());
  const std::vector<float> values = tensor.to_float();
  auto* out = reinterpret_cast<Element*>(result.mutable_data());
  std::transform(values.begin(), values.end(), out, round);
  return result;
}

}  // namespace

bool computes_in(const Node& node, DType dtype, int opset) {
  const std::string_view op = node.op;
  if (dtype == DType::kFloat32) {
    return true;
  }
  // Graphs inside of nodes are text, and stay as they are.
  if (is_among(kFloat32Only, op) || !graph_attributes(op).empty()) {
    return false;
  }
  // Its other results are float32 in any case.
  if (op == "LayerNormalization" && node.outputs.size() > 1) {
    return false;
  }
  if (dtype == DType::kFloat64) {
    return true;
  }
  if (is_among(kWideOnly, op)) {
    return false;
  }
  if (dtype == DType::kFloat16) {
    constexpr int kOpsetOfHalfSums = 14;
    return op != "CumSum" || opset >= kOpsetOfHalfSums;
  }
  return (!is_among(kNeverBfloat16, op) &&
          (opset >= kOpsetOfBfloat16 || !is_among(kLateBfloat16, op)));
}

bool is_always_float32(const Node& node, std::size_t operand) {
  constexpr std::size_t kScales = 2;
  return node.op == "Resize" && operand == kScales;
}

Tensor in_float_type(const Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) {
    return tensor;
  }
  switch (dtype) {
    case DType::kFloat64:
      return Tensor::of<double>(tensor.shape(), tensor.to_double());
    case DType::kFloat16:
      return rounded<std::uint16_t>(tensor, dtype, float_to_half);
    case DType::kBfloat16:
      return rounded<std::uint16_t>(tensor, dtype, float_to_bfloat16);
    default:
      return Tensor::of<float>(tensor.shape(), tensor.to_float());
  }
}

}  // namespace tare
