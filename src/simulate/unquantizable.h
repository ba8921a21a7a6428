#pragma once

#include "tare/node.h"

#include <map>
#include <string>

namespace tare {

/// Nodes that integers of one scale cannot serve, whatever the scale, by their first result,
/// and why, for people: those with operands or results without elements, and those that read
/// infinities which come of a constant, as the masks of transformers do.
std::map<ValueId, std::string> unquantizable_nodes(const Graph&);

}  // namespace tare
