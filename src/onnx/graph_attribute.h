#pragma once

#include "tare/error.h"

#include <algorithm>
#include <string>

#include <onnx/onnx_pb.h>

namespace tare {

/// The graph inside of a node.
inline const onnx::GraphProto& graph_of(const onnx::NodeProto& node,
                                        const std::string& attribute) {
  const auto found =
      std::find_if(node.attribute().begin(), node.attribute().end(),
                   [&](const auto& each) { return each.name() == attribute && each.has_g(); });
  if (found == node.attribute().end()) {
    throw Error(ErrorCode::kInvalidModel, "", "has no graph '" + attribute + "'");
  }
  return found->g();
}

}  // namespace tare
