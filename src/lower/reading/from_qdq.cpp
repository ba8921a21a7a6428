// Reads parameters from QuantizeLinear and DequantizeLinear into types. Storage values between
// the two may be moved, picked and bounded as plain integers, and their parameters follow from
// either side, so it sweeps over the graph until nothing new is learned.
#include "tare/error.h"
#include "tare/graph.h"

#include "graph/arithmetic/node_arithmetic.h"
#include "graph/arithmetic/packed.h"
#include "graph/arithmetic/storage_type.h"
#include "graph/ir/derived_names.h"
#include "graph/ir/verify.h"
#include "graph/operators/affine_ops.h"
#include "lower/forms/channels_last.h"
#include "lower/forms/quick_activations.h"
#include "lower/forms/quick_operators.h"
#include "lower/forms/unfused_operators.h"
#include "lower/forms/unfused_silus.h"
#include "lower/integer_averages.h"
#include "lower/lower.h"
#include "lower/reading/raw_storage.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>

namespace tare {
namespace {

bool all_equal(const auto& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to()) == values.end();
}

/// Channels that all have the same parameters, see with_repeated_scales().
void unite_channels(QuantParams& params) {
  if (!params.scale.empty() && all_equal(params.scale) && all_equal(params.zero_point)) {
    params.scale = {params.scale[0]};
    params.zero_point = {params.zero_point[0]};
  }
}

class QdqReader {
 public:
  explicit QdqReader(Graph graph) : graph_(std::move(graph)) {}

  Graph read() {
    do {
      read_conversions();
    } while (take_averages_for_integers());
    express_constants(graph_);
    verify(graph_);
    return std::move(graph_);
  }

 private:
  /// A value may get its parameters from a reader, and others from that value.
  void read_conversions() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const NodeId id : graph_.topological_order()) {
        const Node node = graph_.node(id);
        changed = (node.op == "QuantizeLinear"     ? read_quantize(node)
                   : node.op == "DequantizeLinear" ? read_dequantize(node)
                                                   : follow_parameters(graph_, node)) ||
                  changed;
      }
      graph_.erase_unused();
    }
  }

  /// Parameters of those that no other conversion has given any; whether there were some.
  bool take_averages_for_integers() {
    bool changed = false;
    for (const NodeId id : graph_.nodes()) {
      const Node& node = graph_.node(id);
      const auto centre = tie_breaking_point(node.attributes);
      if (centre && !graph_.type(node.inputs[0]).quant) {
        const DType storage = graph_.type(node.inputs[0]).dtype;
        changed =
            assign_parameters(graph_, node.inputs[0], as_integers(storage, *centre)) || changed;
      }
    }
    return changed;
  }

  bool read_quantize(const Node& node) {
    TensorType type = graph_.type(node.outputs[0]);
    const auto params = parameters(node, type);
    if (!params || params->storage == DType::kInt32 ||
        graph_.type(node.inputs[0]).dtype != DType::kFloat32) {
      return false;
    }
    type.quant = params;
    const ValueId expressed = take_clip(node.inputs[0], *type.quant);
    inherit_bits(expressed, *type.quant);
    replace(node, expressed, "Quantize", type);
    return true;
  }

  /// A Clip right before it may say that integers use a part of the storage type, see
  /// FormBuilder. What is read instead of its result.
  ValueId take_clip(ValueId expressed, QuantParams& params) const {
    const auto producer = graph_.producer(expressed);
    if (!producer || graph_.node(*producer).op != "Clip" || params.per_axis() ||
        !graph_.single_use(expressed)) {
      return expressed;
    }
    const Node& clip = graph_.node(*producer);
    const auto bound = [&](std::size_t i) -> std::optional<float> {
      const Tensor* tensor = i < clip.inputs.size() ? graph_.constant(clip.inputs[i]) : nullptr;
      return tensor != nullptr && tensor->size() == 1 && tensor->dtype() == DType::kFloat32
                 ? std::optional(tensor->view<float>()[0])
                 : std::nullopt;
    };
    const auto low = bound(1);
    const auto high = bound(2);
    const int all = static_cast<int>(8 * size_of(params.storage));
    for (int bits = 2; low && high && bits <= all; ++bits) {
      for (const bool narrow : {false, true}) {
        QuantParams part = params;
        part.bits = bits == all ? 0 : bits;
        part.narrow_range = narrow;
        const auto [least, most] = expressed_ends(part);
        if (is_part_of_storage(part) && *high == most && *low >= least) {
          const bool is_more = *low > least;  // of a Relu, say, that became one with it
          if (!is_more || !narrow) {
            params = std::move(part);
            return is_more ? expressed : clip.inputs[0];
          }
        }
      }
    }
    return expressed;
  }

  /// What only moves or bounds integers of fewer bits computes such integers.
  void inherit_bits(ValueId expressed, QuantParams& params) const {
    for (auto producer = graph_.producer(expressed); producer && !is_part_of_storage(params);
         producer = graph_.producer(expressed)) {
      const Node& node = graph_.node(*producer);
      expressed = node.inputs.empty() ? ValueId{} : node.inputs[0];
      if (node.op == "Dequantize") {
        QuantParams known = *graph_.type(expressed).quant;
        std::swap(known.bits, params.bits);
        std::swap(known.narrow_range, params.narrow_range);
        if (known.scale != params.scale || known.zero_point != params.zero_point ||
            known.storage != params.storage) {
          params.bits = 0;
          params.narrow_range = false;
        }
        return;
      }
      const AffineOp* row = find_affine_op(graph_, node);
      if (row == nullptr ||
          (row->rule != AffineRule::kMoves && row->rule != AffineRule::kRectifies &&
           row->rule != AffineRule::kClamps)) {
        return;
      }
    }
  }

  bool read_dequantize(const Node& node) {
    const ValueId storage = node.inputs[0];
    TensorType type = graph_.type(storage);
    const auto params = parameters(node, type);
    const TensorType result = graph_.type(node.outputs[0]);
    if (!params || result.dtype != DType::kFloat32) {
      return false;
    }
    if (assign_parameters(graph_, storage, *params)) {
      replace(node, storage, "Dequantize", result);
      return true;
    }
    const Tensor* constant = graph_.constant(storage);
    if (constant == nullptr) {
      return false;
    }
    type.quant = params;
    const std::string name = graph_.name(storage);
    const ValueId own = graph_.add_constant(graph_.unique_name(name), Tensor(*constant), type);
    take_name(graph_, own, name);
    replace(node, own, "Dequantize", result);
    return true;
  }

  /// What the operands say about the storage values of that type; nothing when they are
  /// computed, or are no parameters of ours. Blocks are those of constants.
  std::optional<QuantParams> parameters(const Node& node, const TensorType& storage) const {
    const Tensor* scale = graph_.constant(node.inputs[1]);
    const bool has_zero = node.inputs.size() > 2 && node.inputs[2];
    const Tensor* zero = has_zero ? graph_.constant(node.inputs[2]) : nullptr;
    if (scale == nullptr || scale->dtype() != DType::kFloat32 ||
        (has_zero && zero == nullptr) || !is_storage_type(storage.dtype)) {
      return std::nullopt;
    }
    const auto block = node.attributes.integer("block_size", 0);
    const bool is_constant = graph_.constant(node.inputs[0]) != nullptr;
    if (block == 0 ? scale->shape().size() > 1
                   : !is_constant || block < 0 || block > std::numeric_limits<int>::max()) {
      return std::nullopt;
    }
    QuantParams params{.storage = storage.dtype,
                       .scale = {},
                       .zero_point = {},
                       .axis = {},
                       .block = static_cast<int>(block),
                       .narrow_range = false,
                       .bits = is_packed(storage) ? storage.quant->bits : 0};
    params.scale = scale->view<float>();
    std::vector<std::int32_t> zero_points(params.scale.size());
    if (zero != nullptr) {
      const auto zeros = zero->to_int64();
      if (zeros.size() != params.scale.size()) {
        return std::nullopt;
      }
      std::transform(zeros.begin(), zeros.end(), zero_points.begin(),
                     [](std::int64_t z) { return static_cast<std::int32_t>(z); });
    }
    params.zero_point = zero_points;
    if (!is_constant) {
      unite_channels(params);
    }
    if (params.scale.size() != 1 || block != 0) {
      const auto axis = node.attributes.integer("axis", 1);
      const auto rank = static_cast<std::int64_t>(storage.shape.size());
      if (axis < -rank || axis >= rank) {
        return std::nullopt;
      }
      params.axis = static_cast<int>(axis < 0 ? axis + rank : axis);
    }
    Faults faults;
    TensorType typed = storage;
    typed.quant = params;
    verify_type("", typed, faults);
    return faults.empty() ? std::optional(params) : std::nullopt;
  }

  void replace(const Node& node, ValueId operand, const char* op, const TensorType& type) {
    const ValueId before = node.outputs[0];
    const std::string name = graph_.name(before);
    const NodeId added = graph_.add_node(graph_.unique_name(node.name), op, {operand},
                                         {{graph_.unique_name(name), type}});
    const ValueId after = graph_.node(added).outputs[0];
    graph_.replace_uses(before, after);
    take_place(graph_, *graph_.producer(before), added);
    take_name(graph_, after, name);
  }

  Graph graph_;
};

}  // namespace

Graph from_qdq(Graph graph) {
  graph = read_unfused_silus(read_unfused_operators(read_channels_last(std::move(graph))));
  graph = read_quick_activations(read_quick_operators(std::move(graph)));
  return QdqReader(read_integer_averages(std::move(graph))).read();
}

}  // namespace tare
