#pragma once

#include "tare/node.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tare {

/// What a quantized graph is of a float one. Conversions, and whatever the float graph has no
/// counterpart of, are in neither map.
struct Correspondence {
  /// The value of the float graph that a value of the integer graph stands for.
  std::map<ValueId, ValueId> values;
  /// The operator of the float graph that one of the integer graph computes.
  std::map<NodeId, NodeId> nodes;
};

/// Holds an integer graph, whoever quantized it, beside the prepared float graph that it was
/// made of. Names say which value is which, as quantizers derive theirs from those of the float
/// model; where they do not, the operators that read what is known already do.
Correspondence match(const Graph& prepared, const Graph& integer);

/// The names that a name of a quantized graph may be derived from, the longest first; with the
/// name itself.
std::vector<std::string> original_names(std::string_view derived);

}  // namespace tare
