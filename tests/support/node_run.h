#pragma once

#include "tare/graph.h"

#include "execute/kernel.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tare::test {

/// An operand of one node under test.
struct NodeInput {
  Tensor value;
  bool constant = false;
};
NodeInput constant(std::vector<std::int64_t> values);

Node make_node(std::string op, Attributes = {});

/// The elements of a row-major tensor in that memory order, or back.
Tensor relaid(const Tensor&, Layout, bool back);

/// Runs one node on the first kernel that takes it, with computed operands of the result's rank
/// and all results in `layout`.
std::vector<Tensor> run_node(const Node&, const std::vector<NodeInput>& inputs,
                             const std::vector<TensorType>& results,
                             Layout layout = Layout::kPlain);

}  // namespace tare::test
