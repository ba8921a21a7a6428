#pragma once

#include "onnx/export/export_node.h"

#include <map>
#include <string>

namespace tare {

/// Throws Error(kInternal) when the graph holds an operator that ONNX has no form for.
ExportedModel export_model(const Graph&, const std::map<std::string, std::string>& metadata);

}  // namespace tare
