#pragma once

#include "tare/config.h"
#include "tare/node.h"

#include <map>

namespace tare {

/// Convolutions and matrix products with constant weights, for conditions on their shapes.
class LayerShapes {
 public:
  explicit LayerShapes(const Graph&);

  /// True for a shape without conditions.
  bool match(const LayerShape&, NodeId) const;

 private:
  const Graph& graph_;
  std::map<NodeId, std::int64_t> depths_;  ///< of these nodes alone
};

}  // namespace tare
