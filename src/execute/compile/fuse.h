#pragma once

#include "tare/node.h"

#include "execute/kernel.h"

#include <optional>
#include <set>
#include <span>
#include <vector>

namespace tare {

/// Nodes that run as one step: the first with the others as its post-ops, in order.
struct Unit {
  NodeId node;
  std::vector<NodeId> folded;
};

/// `node` applied to `value`, as a post-op of what computed `value`, with the operand it needs
/// besides; nothing when it cannot be one.
struct FoldedOp {
  PostOp op;
  ValueId operand;
};
std::optional<FoldedOp> as_post_op(const Graph&, const Node& node, ValueId value);

/// The nodes of `order` (producers first) as units that can run in the returned order. Values
/// in `kept` stay visible.
std::vector<Unit> fuse(const Graph&, std::span<const NodeId> order,
                       const std::set<ValueId>& kept);

}  // namespace tare
