#pragma once

#include "onnx/builder.h"

#include <string>
#include <string_view>
#include <vector>

namespace tare {

/// Brings a node of the model's opset (6 to 21) into the form of opset 17; may put nodes and
/// constants before it. Throws Error with an empty `where`; kUnsupported when opset 17 has no
/// such form.
void normalize(Draft&, int opset, GraphBuilder&);

/// Whether `normalize` replaces the operator by others.
bool replaces_operator(std::string_view op, int opset);
/// Those that it replaces in some opset, sorted.
std::vector<std::string> replaced_operators();

}  // namespace tare
