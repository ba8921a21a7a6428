#include "tare/lower.h"

#include "graph/product.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tare {
namespace {

bool is_byte(const TensorType& type) {
  return type.quant && size_of(type.quant->storage) == 1;
}

/// The same real values in the other type of 8 bits: everything moves by half of the range.
TensorType moved(TensorType type, DType storage) {
  const std::int32_t by = storage == DType::kUint8 ? 128 : -128;
  type.dtype = storage;
  type.quant->storage = storage;
  for (std::int32_t& zero : type.quant->zero_point) {
    zero += by;
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
    for (const ValueId value : graph_.values()) {
      const TensorType type = graph_.type(value);
      if (!is_byte(type) || type.quant->narrow_range) {
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
    const std::string name = graph_.name(value);
    if (const Tensor* constant = graph_.constant(value)) {
      const ValueId instead =
          graph_.add_constant(graph_.unique_name(name), moved(*constant, type.dtype), type);
      graph_.replace_uses(value, instead);
    } else if (graph_.is_input(value)) {
      const std::vector<NodeId> readers = graph_.users(value);
      const ValueId instead = converted(value, type);
      for (const NodeId reader : readers) {
        redirect(reader, value, instead);
      }
    } else if (graph_.is_output(value)) {
      const TensorType own = graph_.type(value);
      graph_.set_type(value, type);
      const ValueId instead = converted(value, own);
      const std::vector<NodeId> readers = graph_.users(value);
      const NodeId conversion = *graph_.producer(instead);
      graph_.replace_uses(value, instead);
      graph_.set_input(conversion, 0, value);
      for (const NodeId reader : readers) {
        if (reader != conversion) {
          redirect(reader, instead, value);
        }
      }
    } else {
      graph_.set_type(value, type);
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

Graph with_storage_of(Graph integer, const Target& target) {
  return StorageMover(std::move(integer), target).run();
}

}  // namespace tare
