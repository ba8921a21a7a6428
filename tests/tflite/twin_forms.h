#pragma once

#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/graph.h"
#include "tare/integer_graph.h"
#include "tare/quantize.h"

#include <string>
#include <vector>

namespace tare::test {

/// The integer graph of a float network, with all on integers that can be.
inline Graph quantized_here(const Graph& model, const Dataset& data) {
  Config config;
  config.objective = Objective::kCoverage;
  return quantize(model, data, config, Toolkit::builtin()).integer;
}

/// The regions of an integer graph in their order: pattern and operators, without conversions
/// at the ends of the network and what lies between these and the first and the last product.
inline std::vector<std::string> regions(const Graph& integer) {
  std::vector<std::string> result;
  for (const OffloadRegion& region : partition(integer, integer_patterns())) {
    std::string text = region.pattern + ":";
    for (const NodeId id : region.nodes) {
      text += " " + integer.node(id).op;
    }
    result.push_back(text);
  }
  return result;
}

}  // namespace tare::test
