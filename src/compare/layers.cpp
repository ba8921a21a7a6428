// Cuts both graphs into layers that can be compared: from one float value that the quantized
// graph has a counterpart of to the next. Operators that only move elements, and activations,
// belong to a neighbour, as quantizers place them on either side of a conversion. Boundaries
// are found in topological order, and each layer is what lies between its result and the
// boundaries before it. Operators that two layers need are in both.
#include "compare/layers.h"

#include "graph/arithmetic/storage_type.h"
#include "graph/operators/activation_function.h"
#include "graph/operators/affine_ops.h"
#include "graph/operators/product.h"
#include "graph/operators/rectified_sum.h"
#include "graph/operators/scores.h"
#include "lower/conversions.h"

#include <algorithm>
#include <set>

namespace tare {

bool is_rounded_activation(const TensorType& type) {
  return type.quant && !is_sum_type(type.quant->storage);
}

namespace {

class LayerFinder {
 public:
  LayerFinder(const Graph& real, const Graph& integer) : real_(real), integer_(integer) {
    result_.same = match(real, integer);
    for (const NodeId id : integer.topological_order()) {
      for (const ValueId value : integer.node(id).outputs) {
        stand_for(value);
      }
    }
    for (const ValueId input : integer.inputs()) {
      stand_for(input);
    }
  }

  Comparison run() {
    order_ = real_.topological_order();
    for (const NodeId id : order_) {
      position_.emplace(id, position_.size());
    }
    find_computed();
    find_functions();
    for (const NodeId id : order_) {
      for (const ValueId value : real_.node(id).outputs) {
        if (is_boundary(value)) {
          add_layer(value);
          boundaries_.insert(value);
        }
      }
    }
    for (const ValueId input : real_.inputs()) {
      add_points(input);
    }
    for (const NodeId id : order_) {
      for (const ValueId value : real_.node(id).outputs) {
        add_points(value);
      }
    }
    return std::move(result_);
  }

 private:
  void stand_for(ValueId value) {
    const auto found = result_.same.values.find(value);
    if (found != result_.same.values.end()) {
      forms_[found->second].push_back(value);
    }
  }

  /// What readers of a float value read in the integer graph: storage values before real ones,
  /// accumulators last; absent when nothing stands for it.
  ValueId as_read(ValueId real) const {
    const auto found = forms_.find(real);
    if (found == forms_.end()) {
      return {};
    }
    const auto rank = [this](ValueId value) {
      const TensorType& type = integer_.type(value);
      return is_rounded_activation(type) ? 0 : type.quant ? 2 : 1;
    };
    return *std::min_element(found->second.begin(), found->second.end(),
                             [&](ValueId a, ValueId b) { return rank(a) < rank(b); });
  }

  bool moves_elements(const Graph& graph, const Node& node) const {
    const AffineOp* row = find_affine_op(graph, node);
    return node.op == "Identity" || (row != nullptr && row->rule == AffineRule::kMoves);
  }

  /// What only constants go into, as weights of a model that was quantized before, is no layer.
  void find_computed() {
    computed_.insert(real_.inputs().begin(), real_.inputs().end());
    for (const NodeId id : order_) {
      const Node& node = real_.node(id);
      if (std::any_of(node.inputs.begin(), node.inputs.end(),
                      [this](ValueId value) { return computed_.contains(value); })) {
        computed_.insert(node.outputs.begin(), node.outputs.end());
      }
    }
  }

  /// Behind values that are rounded.
  void find_functions() {
    for (const ValueId value : computed_) {
      const ValueId storage = as_read(value);
      if (!storage || !is_rounded_activation(integer_.type(storage))) {
        continue;
      }
      const ElementwiseFunction function = activation_function(real_, value);
      if (function.operators.empty() || !as_read(function.result)) {
        continue;
      }
      in_functions_.insert(value);
      for (const NodeId id : function.operators) {
        const ValueId result = real_.node(id).outputs[0];
        if (result != function.result) {
          in_functions_.insert(result);
        }
      }
    }
  }

  bool is_boundary(ValueId value) const {
    if (real_.type(value).dtype != DType::kFloat32 || !as_read(value) ||
        !computed_.contains(value)) {
      return false;
    }
    const Node& node = real_.node(*real_.producer(value));
    const bool is_inside =
        is_activated(real_, value) && as_read(real_.node(real_.users(value)[0]).outputs[0]);
    return real_.is_output(value) || !(moves_elements(real_, node) || is_inside ||
                                       saturates_mask(value) || is_in_function(value));
  }

  /// Whether an activation function of several operators says what is left of it. Ranges end
  /// where that is flat, and what is lost there is no error: it belongs to the layer of the
  /// function's result.
  bool is_in_function(ValueId value) const { return in_functions_.contains(value); }

  /// Masked scores whose mask saturation tells from the others. How far below them it lies is
  /// no error: the layer is the Softmax.
  bool saturates_mask(ValueId value) const {
    if (!is_masked_score(real_, value)) {
      return false;
    }
    const std::optional<double> low = lowest(value);
    const Node& node = real_.node(*real_.producer(value));
    return low && std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId operand) {
             const std::optional<double> of_operand = lowest(operand);
             return of_operand && *of_operand < *low;
           });
  }

  /// The lowest number that what stands for the value can hold; nothing where that is no
  /// storage type.
  std::optional<double> lowest(ValueId value) const {
    const ValueId storage = as_read(value);
    if (!storage || !is_rounded_activation(integer_.type(storage))) {
      return std::nullopt;
    }
    const QuantParams& params = *integer_.type(storage).quant;
    return static_cast<double>(params.range().low - params.zero_point[0]) *
           static_cast<double>(params.scale[0]);
  }

  /// Whether all that reads it is a Relu or Clip, which then says what is left of it.
  bool is_activated(const Graph& graph, ValueId value) const {
    return graph.single_use(value) && is_activation(graph.node(graph.users(value)[0]));
  }

  void add_layer(ValueId value) {
    ComparedLayer layer{.main = *real_.producer(value),
                        .nodes = {},
                        .inputs = {},
                        .real = value,
                        .quantized = as_read(value),
                        .other = {}};
    if (is_rounded_activation(integer_.type(layer.quantized))) {
      layer.other = rectified_with(real_, value).value_or(ValueId());
    }
    std::set<NodeId> inside;
    collect(value, inside, layer.inputs);
    layer.nodes.assign(inside.begin(), inside.end());
    std::sort(layer.nodes.begin(), layer.nodes.end(),
              [this](NodeId a, NodeId b) { return position_.at(a) < position_.at(b); });
    layer.main = main_of(layer);
    for (const NodeId id : layer.nodes) {
      result_.layer_of.emplace(id, result_.layers.size());
    }
    result_.layers.push_back(std::move(layer));
  }

  void collect(ValueId value, std::set<NodeId>& inside, std::vector<ValueId>& inputs) const {
    const auto producer = real_.producer(value);
    if (!producer || !inside.insert(*producer).second) {
      return;
    }
    for (const ValueId operand : real_.node(*producer).inputs) {
      if (!operand || real_.constant(operand) != nullptr) {
        continue;
      }
      if (real_.is_input(operand) || boundaries_.contains(operand)) {
        if (std::find(inputs.begin(), inputs.end(), operand) == inputs.end()) {
          inputs.push_back(operand);
        }
      } else {
        collect(operand, inside, inputs);
      }
    }
  }

  /// No two layers have the same one: what computes the result is in no other.
  NodeId main_of(const ComparedLayer& layer) const {
    NodeId main = layer.main;
    const auto rank = [this](NodeId id) {
      const Node& node = real_.node(id);
      return is_product(node) ? 0 : is_activation(node) || moves_elements(real_, node) ? 2 : 1;
    };
    for (const NodeId id : layer.nodes) {
      if (rank(id) < rank(main) && !result_.layer_of.contains(id)) {
        main = id;
      }
    }
    return main;
  }

  void add_points(ValueId real) {
    const auto found = forms_.find(real);
    if (found == forms_.end()) {
      return;
    }
    std::vector<QuantParams> known;
    for (const ValueId storage : found->second) {
      const TensorType& type = integer_.type(storage);
      if (!is_rounded_activation(type) || !rounds(storage) ||
          std::find(known.begin(), known.end(), *type.quant) != known.end()) {
        continue;
      }
      known.push_back(*type.quant);
      std::string name = real_.name(real);
      if (known.size() > 1) {
        name.append(":").append(std::to_string(known.size()));
      }
      result_.points.push_back(
          {std::move(name), real, storage, rectified_with(real_, real).value_or(ValueId())});
    }
  }

  /// Whether it has parameters of its own, rather than those of what it was made of. What is
  /// rounded before a Relu or Clip on storage values counts after it.
  bool rounds(ValueId storage) const {
    const auto producer = integer_.producer(storage);
    if (!producer || is_activated(integer_, storage)) {
      return false;
    }
    const Node* node = &integer_.node(*producer);
    while (is_activation(*node)) {
      const auto before = integer_.producer(node->inputs[0]);
      if (!before || !integer_.single_use(node->inputs[0])) {
        return false;
      }
      node = &integer_.node(*before);
    }
    const AffineOp* row = find_affine_op(integer_, *node);
    return is_conversion(*node) || (row != nullptr && (row->rule == AffineRule::kRounds ||
                                                       row->rule == AffineRule::kTabulates));
  }

  const Graph& real_;
  const Graph& integer_;
  std::vector<NodeId> order_;
  std::map<NodeId, std::size_t> position_;         ///< in it
  std::map<ValueId, std::vector<ValueId>> forms_;  ///< float value -> what stands for it
  std::set<ValueId> computed_;                     ///< float values that depend on inputs
  std::set<ValueId> in_functions_;                 ///< and not their results
  std::set<ValueId> boundaries_;
  Comparison result_;
};

}  // namespace

Comparison find_layers(const Graph& prepared, const Graph& integer) {
  return LayerFinder(prepared, integer).run();
}

}  // namespace tare
