#pragma once

#include "tare/graph.h"

#include "compare/layers.h"

#include <map>
#include <string>
#include <vector>

namespace tare {

/// One graph that computes everything that is compared, so that one pass over the samples
/// serves: the float network, the quantized one as it runs, and each of its layers once more
/// from exact inputs. What is compared with a float value comes after it in topological order,
/// and soon.
struct SideBySide {
  Graph graph;  ///< its outputs: those of the float network, then as many of the quantized one
  /// For each layer: its float result, or what a Relu behind a sum shows of it,
  std::vector<ValueId> layer_real;
  std::vector<ValueId> layer_local;       ///< that from exact inputs,
  std::vector<ValueId> layer_cumulative;  ///< that in the quantized network
  std::vector<ValueId> point_real;        ///< for each point: the float value,
  std::vector<ValueId> point_storage;     ///< that value rounded,
  std::vector<ValueId> point_visible;     ///< what a Relu behind a sum shows of it, or absent
};

/// Results of layers are those of the float network, points those divided by the divisors (see
/// EqualizedGraph). Throws Error(kInvalidModel) when inputs or outputs of the two networks
/// differ.
SideBySide put_side_by_side(const Graph& prepared,
                            const std::map<std::string, Tensor>& divisors, const Graph& integer,
                            const Comparison&);

}  // namespace tare
