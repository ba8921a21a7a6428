#pragma once

#include "tare/config.h"
#include "tare/node.h"
#include "tare/simulate.h"

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace tare {

/// What measured layers are known by: their operators in topological order, the shapes of what
/// is multiplied, read and computed, and the strides, dilations and groups of convolutions.
/// "Conv+Relu [1,16,32,32]*[32,16,3,3] -> [1,32,16,16] strides [2,2]".
std::string layer_shape(const Graph&, std::span<const NodeId>);

/// Rows of Target::costs that are about such layers, and not about operators.
class MeasuredLayers {
 public:
  /// The target must outlive it.
  explicit MeasuredLayers(const Target&);
  /// Null where it was not measured.
  const TargetOperator* find(const Graph&, std::span<const NodeId>) const;

 private:
  std::map<std::string_view, const TargetOperator*> layers_;
};

}  // namespace tare
