#pragma once

#include "tare/graph.h"
#include "tare/model_files.h"

#include "onnx/infer_graph.h"

#include <map>
#include <set>
#include <span>

namespace tare {

/// Values that decided how a model was read, such as conditions on extents, and how they follow
/// from its inputs.
class Decisions {
 public:
  /// `decisive` are values of the graph, and `here` is what they were.
  Decisions(const Graph&, const std::set<ValueId>& decisive, const InferredValues& here,
            const Evaluator&, const std::map<ValueId, Tensor>& assumed);

  /// Throws Error(kUnsupported) where the model would have been read as another network for
  /// inputs of these shapes. Of a part of the network, which has other inputs, nothing is
  /// known.
  void expect_same(const Graph& network, std::span<const Shape>) const;

 private:
  Graph graph_;
  Evaluator evaluate_;
  std::map<ValueId, Tensor> decided_;
  std::map<ValueId, Tensor> assumed_;
};

}  // namespace tare
