// Moves storage values between int8 and uint8. Adding 128 to values and zero point alike leaves
// what they stand for as it is, and is the flip of one bit in constants. Weights move to uint8
// where pairs of them would saturate in the int16 sums of x86 kernels
// (docs/decisions/0009-neighbouring-weights-stay-within-128.md): a file of another origin has
// its scales already. Linear in the graph and its constants.

#include "tare/config.h"
#include "tare/integer_graph.h"

#include "graph/arithmetic/node_arithmetic.h"
#include "graph/operators/product.h"
#include "lower/forms/form_builder.h"
#include "lower/forms/storage_form.h"
#include "lower/lower.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tare {
namespace {

/// How far storage values move into that type from the other one of 8 bits: half of the range.
std::int32_t distance_to(DType storage) {
  return storage == DType::kUint8 ? 128 : -128;
}

/// The same real values in the other type of 8 bits.
TensorType moved(TensorType type, DType storage) {
  type.dtype = storage;
  type.quant->storage = storage;
  for (std::int32_t& zero : type.quant->zero_point.mutable_view()) {
    zero += distance_to(storage);
  }
  return type;
}

/// Which flips the highest bit of each.
Tensor moved(const Tensor& tensor, DType storage) {
  Tensor result(storage, tensor.shape());
  std::transform(tensor.data(), tensor.data() + tensor.byte_size(), result.mutable_data(),
                 [](std::byte value) { return value ^ std::byte{0x80}; });
  return result;
}

class StorageMover {
 public:
  StorageMover(Graph integer, const Target& target)
      : graph_(std::move(integer)), target_(target) {}

  Graph run() {
    find_weights();
    move_halves();
    for (const ValueId value : graph_.values()) {
      const TensorType type = graph_.type(value);
      if (!is_byte(type) || type.quant->narrow_range || type.quant->block != 0) {
        continue;
      }
      // The other type cuts ranges off elsewhere.
      if (graph_.constant(value) == nullptr && is_part_of_storage(*type.quant)) {
        continue;
      }
      const DType wanted = wanted_storage(value);
      if (wanted != type.quant->storage) {
        move(value, moved(type, wanted));
      }
    }
    graph_.erase_unused();
    verify(graph_);
    return std::move(graph_);
  }

 private:
  void find_weights() {
    for (const NodeId id : graph_.nodes()) {
      const Node& node = graph_.node(id);
      if (is_integer_product(graph_, node) && graph_.constant(node.inputs[1]) != nullptr) {
        weights_.insert(node.inputs[1]);
      }
    }
  }

  /// What averages of integers round away from moves with these.
  void move_halves() {
    for (const NodeId id : graph_.nodes()) {
      Attributes attributes = graph_.node(id).attributes;
      if (const auto centre = tie_breaking_point(attributes)) {
        const ValueId operand = graph_.node(id).inputs[0];
        const DType wanted = wanted_storage(operand);
        if (wanted != graph_.type(operand).dtype) {
          set_tie_breaking_point(attributes, *centre + distance_to(wanted));
          graph_.set_attributes(id, attributes);
        }
      }
    }
  }

  /// Weights stay as they are, but for those of int8 whose sums of two with activations of
  /// uint8 leave 16 bits: uint8 goes another way.
  DType wanted_storage(ValueId value) const {
    const DType own = graph_.type(value).quant->storage;
    if (!weights_.contains(value)) {
      return target_.activation_storage;
    }
    if (own != DType::kInt8 || target_.weight_pair_limit == 0) {
      return own;
    }
    const auto values = graph_.constant(value)->to_int64();
    const bool fits = std::all_of(values.begin(), values.end(), [&](std::int64_t w) {
      return 2 * std::abs(w) <= target_.weight_pair_limit;
    });
    return fits ? own : DType::kUint8;
  }

  void move(ValueId value, const TensorType& type) {
    const Tensor* constant = graph_.constant(value);
    if (constant == nullptr && !stays(value)) {
      const TensorType own = graph_.type(value);
      graph_.set_type(value, type);
      restore(value, own);
      return;
    }
    const std::vector<NodeId> readers = graph_.users(value);
    const ValueId instead = constant == nullptr
                                ? converted(value, type)
                                : graph_.add_constant(graph_.unique_name(graph_.name(value)),
                                                      moved(*constant, type.dtype), type);
    for (const NodeId reader : readers) {
      if (!is_raw(graph_, graph_.node(reader))) {
        redirect(reader, value, instead);
      }
    }
  }

  /// What comes from outside, or from an operator that takes storage values for integers.
  bool stays(ValueId value) const {
    const auto producer = graph_.producer(value);
    return !producer || is_raw(graph_, graph_.node(*producer));
  }

  /// The value as it was, for outside and for operators that take it for integers.
  void restore(ValueId value, const TensorType& own) {
    const std::vector<NodeId> readers = graph_.users(value);
    const auto reads_integers = [&](NodeId reader) {
      return is_raw(graph_, graph_.node(reader));
    };
    if (!graph_.is_output(value) &&
        std::none_of(readers.begin(), readers.end(), reads_integers)) {
      return;
    }
    const ValueId instead = converted(value, own);
    const NodeId conversion = *graph_.producer(instead);
    graph_.replace_uses(value, instead);
    graph_.set_input(conversion, 0, value);
    for (const NodeId reader : readers) {
      if (!reads_integers(reader)) {
        redirect(reader, instead, value);
      }
    }
  }

  ValueId converted(ValueId value, const TensorType& type) {
    const std::string name = graph_.unique_name(graph_.name(value) + "_moved");
    const NodeId id =
        graph_.add_node(name, "Requantize", {value}, {{name, type}}, to_attributes({}));
    return graph_.node(id).outputs[0];
  }

  void redirect(NodeId reader, ValueId before, ValueId after) {
    const std::vector<ValueId> operands = graph_.node(reader).inputs;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i] == before) {
        graph_.set_input(reader, i, after);
      }
    }
  }

  Graph graph_;
  const Target& target_;
  std::set<ValueId> weights_;
};

}  // namespace

Graph for_target(Graph integer, const Target& target) {
  if (!target.averages_in_float) {
    for (const NodeId id : integer.nodes()) {
      Attributes attributes = integer.node(id).attributes;
      set_tie_breaking_point(attributes, std::nullopt);
      integer.set_attributes(id, attributes);
    }
  }
  return with_equal_widths(StorageMover(std::move(integer), target).run(), target, {});
}

}  // namespace tare
