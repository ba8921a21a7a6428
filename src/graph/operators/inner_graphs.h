#pragma once

#include "tare/node.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tare {

// If, Loop and Scan run graphs, and so does Region, which stands for a part of a graph that was
// taken out of it; which a node holds as text in attributes. A graph inside of a
// node cannot read values around it. Those that it needs are operands of the node after the
// operator's own, and the attribute `captured` lists what the inner graphs call them: each
// inner graph has an input of that name where it reads the value.

/// The attributes in which nodes of this operator hold graphs; none for all other operators.
std::vector<std::string> graph_attributes(std::string_view op);

/// What inner graphs call the last operands of the node, in their order.
std::vector<std::string> captured_names(const Node&);

/// Operands of the node before those that are captured.
std::size_t own_operands(const Node&);

/// One of the node's graphs. Throws Error(kInvalidModel) where the text is none.
Graph inner_graph(const Node&, const std::string& attribute);

}  // namespace tare
