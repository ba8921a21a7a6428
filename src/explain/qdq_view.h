#pragma once

#include "tare/node.h"

#include <vector>

namespace tare {

/// Questions about a graph of from_qdq(): float operators between Dequantize and Quantize.
class QdqView {
 public:
  explicit QdqView(const Graph& graph) : graph_(&graph) {}

  const Graph& graph() const { return *graph_; }

  /// The parameters behind a value that a Dequantize computes, or null.
  const QuantParams* dequantized(ValueId) const;
  /// The storage values behind it; absent where there are none.
  ValueId storage(ValueId) const;
  bool is_constant(ValueId) const;
  /// The Quantize that alone reads a value, past a Relu or Clip on the way that nothing else
  /// reads; null when there is none.
  const Node* quantize_after(ValueId) const;
  /// Operands that are computed or weights, not shapes, axes or scales of a Resize.
  std::vector<ValueId> data_operands(const Node&) const;
  bool is_conversion(const Node&) const;

 private:
  /// By a scale that was found while the network runs, or such a scale.
  bool multiplies_scales(const Node&) const;

  const Graph* graph_;
};

}  // namespace tare
