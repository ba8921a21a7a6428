#pragma once

#include "onnx/builder.h"

#include <string_view>

namespace tare {

/// Whether `normalize_quantized` knows the operator of that domain; the empty one is ONNX's.
bool is_quantized_operator(std::string_view domain, std::string_view op);

/// An operator between storage values with parameters among its operands becomes
/// DequantizeLinear -> operator -> QuantizeLinear; the operator itself keeps the node's name.
/// Throws Error with an empty `where`: kInvalidModel for missing operands, kUnsupported for
/// what has no such form.
void normalize_quantized(Draft&, GraphBuilder&);

}  // namespace tare
