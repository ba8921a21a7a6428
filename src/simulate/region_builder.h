#pragma once

#include "tare/simulate.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tare {

/// The value whose quantization point `value` shares: through operators that only move
/// elements, so that both sides of them have the same parameters and they can run on storage
/// values.
ValueId point_root(const Graph&, ValueId);

/// True when `node` may disappear into the rounding of a Quantize that follows it (Relu, Clip).
bool is_fused_activation(const Graph&, const Node&);

/// The activations that fuse with a region, in order.
std::vector<NodeId> fused_activations(const Graph&, const Region&);

/// The nodes of its match and these.
std::vector<NodeId> layer_nodes(const Graph&, const Region&);

/// The result of a region, followed through the activations that fuse with it.
ValueId fused_result(const Graph&, const Region&);

/// What simulation and lowering have in common: a copy of the source graph in which region
/// after region is replaced, in topological order. Handles of the source stay valid in the
/// copy.
class RegionBuilder : public AffineBuilder {
 public:
  RegionBuilder(const Graph& source, const NetworkArithmetic& arithmetic)
      : source_(&source), working_(source), arithmetic_(&arithmetic) {}

  const Graph& graph() const final { return *source_; }
  ValueId activation(ValueId) final;
  ValueId bias(const Node& reader, ValueId constant, ValueId input, ValueId weight) final;
  ValueId accumulate(const Node& node, std::vector<ValueId> operands) final;
  ValueId apply(const Node& node, std::vector<ValueId> operands) final;

  /// Readers of the region's result read `expressed` instead.
  void replace(const Region&, ValueId expressed);
  /// Every reader of `value` sees it quantized, the ones that stay float through a Dequantize.
  void quantize_for_all(ValueId value);
  /// The rewritten graph, without what became unused.
  Graph take();

 protected:
  /// Storage form of `value` (of the source) under the parameters of a point.
  ValueId storage(ValueId value, PointId);
  const Graph& source() const { return *source_; }
  /// The value of the rewritten graph that stands for a value of the source.
  ValueId current(ValueId source_value) const;
  Graph& working() { return working_; }
  /// Forgets what was made for these points and the ones after them.
  void forget_from(PointId);
  virtual const QuantPoints& points() const = 0;
  /// The point whose scale is the product of both points' scales, in which `reader`
  /// accumulates. With `bias`, that value (absent: 0) will be added at that scale.
  virtual PointId accumulator_point(const Node& reader, PointId input, PointId weight,
                                    std::optional<ValueId> bias) = 0;
  virtual PointId activation_point(ValueId root) = 0;
  /// Type of storage values under a point; where it is per axis, of rank 1 or of the axis's
  /// tensor.
  virtual TensorType storage_type(const Shape&, const QuantPoint&) const = 0;
  /// Adds the node (or constant) that turns `expressed` into storage values of `type`.
  virtual ValueId add_quantize(ValueId expressed, const TensorType& type, std::string name) = 0;
  /// The same for the constant row that is added to an accumulator; absent where it would add
  /// nothing.
  virtual ValueId add_bias(ValueId row, const TensorType& type, std::string name) = 0;
  virtual std::string_view dequantize_op() const = 0;

 private:
  ValueId dequantized(ValueId storage);
  /// The point of a storage value of the rewritten graph.
  PointId point_of(ValueId storage) const;
  /// Named like `like`, its result as said.
  ValueId add_node(const Node& like, std::vector<ValueId> operands, TensorType type,
                   const std::string& name, Attributes);
  void take_names();

  const Graph* source_;
  Graph working_;
  const NetworkArithmetic* arithmetic_;
  std::map<ValueId, ValueId> current_;
  std::map<std::pair<PointId, ValueId>, ValueId> storage_;
  std::map<ValueId, ValueId> dequantized_;
  /// What the source calls that which nodes and their results stand for.
  std::vector<std::pair<NodeId, std::string>> wanted_nodes_;
  std::vector<std::pair<NodeId, std::string>> wanted_results_;
};

}  // namespace tare
