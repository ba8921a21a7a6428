#pragma once

#include "onnx/builder.h"

#include <string>
#include <string_view>
#include <vector>

namespace tare {

/// Whether `normalize_runtime_operator` knows the operator of ONNX Runtime's domain.
bool is_runtime_operator(std::string_view op);
/// All of them, sorted.
std::vector<std::string> runtime_operators();

/// An operator between real values that ONNX Runtime has for itself becomes those of ONNX that
/// it is defined by. Throws Error with an empty `where`: kInvalidModel for operands that do not
/// fit, kUnsupported for forms that have no such definition.
void normalize_runtime_operator(Draft&, GraphBuilder&);

}  // namespace tare
