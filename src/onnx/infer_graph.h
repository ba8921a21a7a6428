#pragma once

#include "tare/graph.h"
#include "tare/model_files.h"

#include <map>

namespace tare {

/// What follows for a graph from shapes of its inputs.
struct InferredValues {
  /// Of all values; the other parts of their types are those of the graph.
  std::map<ValueId, Shape> shapes;
  /// Values that follow from shapes and constants alone, up to kMostKnownElements elements.
  std::map<ValueId, Tensor> known;
};

/// Infers the shapes of all values anew where `inputs` have other ones than in the graph, which
/// may be one of any stage. `assumed` are values that nothing in the graph tells. Throws Error
/// at the node that does not take its operands: kInvalidModel, or kUnsupported where shapes
/// depend on data.
InferredValues infer_graph(const Graph&, const std::map<ValueId, Shape>& inputs,
                           const Evaluator&, const std::map<ValueId, Tensor>& assumed = {});

}  // namespace tare
