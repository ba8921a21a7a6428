#pragma once

#include <string_view>

namespace tare {

/// Where ONNX Runtime keeps operators of its own.
inline constexpr std::string_view kRuntimeDomain = "com.microsoft";

/// Where regions of a graph are that no device has a name for.
inline constexpr std::string_view kOwnDomain = "ai.tare";

/// An LSTM with weights of 8 bits there, an operator of graphs as well.
inline constexpr std::string_view kDynamicQuantizeLstm = "DynamicQuantizeLSTM";

/// A product with weights in blocks of few bits there.
inline constexpr std::string_view kMatMulNBits = "MatMulNBits";

/// Operators of that domain that the toolkit writes; empty for those of ONNX itself.
std::string_view domain_of(std::string_view op);

}  // namespace tare
