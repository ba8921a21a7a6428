#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace tare {

/// Operators with weights, which are what calibration is for.
inline constexpr std::array<std::string_view, 18> kLayerNames{
    "Attention",   "Conv",          "ConvInteger", "ConvTranspose", "DeformConv",
    "FusedConv",   "FusedGemm",     "FusedMatMul", "GRU",           "Gemm",
    "LSTM",        "MatMulInteger", "NhwcConv",    "QAttention",    "QGemm",
    "QLinearConv", "QLinearMatMul", "RNN"};

inline bool may_be_layer(std::string_view op) {
  return std::find(kLayerNames.begin(), kLayerNames.end(), op) != kLayerNames.end();
}

/// Has weights where an operand is constant.
inline bool is_product(std::string_view op) {
  return op == "MatMul" || op == "Einsum";
}

}  // namespace tare
