// Gives each operator operands and results of one width, as devices with kernels for 8 and for
// 16 bits want it: QNN refuses, say, a Conv that reads 8 bits and gives 16, and the engine runs
// it elsewhere. Where one value of an operator has 16 bits, the others are converted: what it
// reads of 8 bits is the same numbers in steps of a 256th, and its result is rounded once more.
// Linear in the graph and its constants.
#include "tare/config.h"
#include "tare/integer_graph.h"

#include "graph/arithmetic/node_arithmetic.h"
#include "graph/arithmetic/storage_type.h"
#include "graph/ir/derived_names.h"
#include "graph/operators/product.h"
#include "lower/conversions.h"
#include "lower/lower.h"
#include "simulate/target_operator.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace tare {
namespace {

bool has_sign(DType storage) {
  return storage == DType::kInt8 || storage == DType::kInt16;
}

/// How the same real numbers are stored in 16 bits.
struct Wider {
  DType storage;
  int shift = 8;  ///< steps are so many powers of two smaller

  std::int32_t of(std::int32_t stored, DType from) const {
    const std::int32_t off = has_sign(from) == has_sign(storage) ? 0
                             : has_sign(from)                    ? 128
                                                                 : -128;
    return (stored + off) * (1 << shift);
  }
  TensorType of(TensorType type) const {
    QuantParams& params = *type.quant;
    for (std::int32_t& zero : params.zero_point.mutable_view()) {
      zero = of(zero, params.storage);
    }
    for (float& scale : params.scale.mutable_view()) {
      scale = std::ldexp(scale, -shift);
    }
    params.storage = storage;
    params.narrow_range = false;
    type.dtype = storage;
    type.point.clear();
    return type;
  }

  friend auto operator<=>(const Wider&, const Wider&) = default;
};

class WidthMatcher {
 public:
  WidthMatcher(Graph integer, const RequantizeMode& mode)
      : graph_(std::move(integer)), mode_(mode) {}

  Graph run() {
    for (const NodeId id : graph_.topological_order()) {
      const Node node = graph_.node(id);
      const std::optional<DType> wide = is_conversion(node) ? std::nullopt : wide_type(node);
      if (!wide) {
        continue;
      }
      if (is_integer_product(graph_, node)) {
        widen_product(id, *wide);
      } else {
        widen_operands(id, {*wide});
      }
      for (const ValueId result : results(id)) {
        if (is_byte(result)) {
          narrow_behind(result, {*wide});
        }
      }
    }
    graph_.erase_unused();
    verify(graph_);
    return std::move(graph_);
  }

 private:
  bool has_bytes(ValueId value, std::size_t bytes) const {
    const TensorType& type = graph_.type(value);
    return type.quant && is_storage_type(type.dtype) && size_of(type.dtype) == bytes;
  }
  /// What can be widened. Parts of a storage type have ends that another one would not have.
  bool is_byte(ValueId value) const {
    const auto& params = graph_.type(value).quant;
    return has_bytes(value, 1) && params->block == 0 && params->bits == 0;
  }

  /// Indices of operands that have the width of the operator: weights do not.
  std::vector<std::size_t> data_operands(const Node& node) const {
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const bool is_weight =
          is_product(node) && i > 0 && (i > 1 || graph_.constant(node.inputs[i]) != nullptr);
      if (node.inputs[i] && !is_weight) {
        result.push_back(i);
      }
    }
    return result;
  }

  /// Storage values that come of a node, of a product those that its sums are rescaled to.
  std::vector<ValueId> results(NodeId id) const {
    std::vector<ValueId> result;
    for (const ValueId output : graph_.node(id).outputs) {
      if (!is_integer_product(graph_, graph_.node(id))) {
        result.push_back(output);
        continue;
      }
      for (const NodeId user : graph_.users(output)) {
        if (graph_.node(user).op == "Requantize") {
          result.push_back(graph_.node(user).outputs[0]);
        }
      }
    }
    return result;
  }

  /// The type of 16 bits that one of its values has.
  std::optional<DType> wide_type(const Node& node) const {
    std::vector<ValueId> values = results(*graph_.producer(node.outputs[0]));
    for (const std::size_t i : data_operands(node)) {
      values.push_back(node.inputs[i]);
    }
    const auto found = std::find_if(values.begin(), values.end(),
                                    [&](ValueId value) { return has_bytes(value, 2); });
    return found == values.end() ? std::nullopt : std::optional(graph_.type(*found).dtype);
  }

  void widen_operands(NodeId id, const Wider& to) {
    const Node node = graph_.node(id);
    for (const std::size_t i : data_operands(node)) {
      if (is_byte(node.inputs[i])) {
        graph_.set_input(id, i, widened(node.inputs[i], to));
      }
    }
  }

  /// The sums count in smaller steps then, and so does the bias, as far as it fits.
  void widen_product(NodeId id, DType wide) {
    constexpr std::size_t kBias = 2;
    const Node before = graph_.node(id);
    const std::vector<std::size_t> operands = data_operands(before);
    const auto narrow = std::count_if(operands.begin(), operands.end(),
                                      [&](std::size_t i) { return is_byte(before.inputs[i]); });
    if (narrow == 0) {
      return;
    }
    const bool has_bias = before.inputs.size() > kBias && before.inputs[kBias];
    const Tensor* bias = has_bias ? graph_.constant(before.inputs[kBias]) : nullptr;
    if (has_bias && bias == nullptr) {
      return;
    }
    // Each operand brings as many powers of two as it is finer.
    const auto count = static_cast<int>(narrow);
    const int room = std::min(most_shift(bias, 8 * count), most_shift(before, bias, 8 * count));
    const Wider to{wide, room / count};
    const int finer = to.shift * count;
    widen_operands(id, to);
    const Node node = graph_.node(id);
    if (bias != nullptr) {
      graph_.set_input(id, kBias, finer_bias(before.inputs[kBias], finer));
    }
    TensorType type = graph_.type(node.outputs[0]);
    for (float& scale : type.quant->scale.mutable_view()) {
      scale = std::ldexp(scale, -finer);
    }
    type.dtype = sum_type(graph_.type(node.inputs[0]).dtype, graph_.type(node.inputs[1]).dtype,
                          accumulator(node.attributes));
    type.quant->storage = type.dtype;
    graph_.set_type(node.outputs[0], type);
  }

  /// By how many powers of two the steps of sums can be finer so that the bias fits.
  static int most_shift(const Tensor* bias, int shift) {
    if (bias == nullptr) {
      return shift;
    }
    for (const std::int64_t value : bias->to_int64()) {
      while (shift > 0 && std::abs(value) > std::numeric_limits<std::int32_t>::max() >> shift) {
        --shift;
      }
    }
    return shift;
  }
  /// The same for sums, which in accumulators of fewer bits than usual must not leave these if
  /// they did not before.
  int most_shift(const Node& node, const Tensor* bias, int shift) const {
    const Accumulator held = accumulator(node.attributes);
    if (held == Accumulator{}) {
      return shift;  // they have 64 bits
    }
    for (const SumRange& sum : worst_case_accumulators(ProductOperands{.node = &node,
                               .x = &graph_.type(node.inputs[0]),
                               .w = &graph_.type(node.inputs[1]),
                               .weights = graph_.constant(node.inputs[1]),
                               .bias = bias})) {
      while (shift > 0 && (sum.low < held.low() >> shift || sum.high > held.high() >> shift)) {
        --shift;
      }
    }
    return shift;
  }

  ValueId finer_bias(ValueId value, int shift) {
    TensorType type = graph_.type(value);
    for (float& scale : type.quant->scale.mutable_view()) {
      scale = std::ldexp(scale, -shift);
    }
    std::vector<std::int32_t> finer;
    for (const std::int64_t each : graph_.constant(value)->to_int64()) {
      finer.push_back(static_cast<std::int32_t>(each * (std::int64_t{1} << shift)));
    }
    return graph_.add_constant(graph_.unique_name(graph_.name(value)),
                               Tensor::of<std::int32_t>(type.shape, finer), type);
  }

  /// The value in 16 bits, made once for all who read it so.
  ValueId widened(ValueId value, const Wider& to) {
    const auto [found, is_new] = widened_.try_emplace({value, to});
    if (is_new) {
      const TensorType type = to.of(graph_.type(value));
      const std::string name = name_of("widened", value);
      if (const Tensor* constant = graph_.constant(value)) {
        found->second = graph_.add_constant(name, in_words(*constant, to), type);
      } else {
        found->second = converted(value, type, name);
      }
    }
    return found->second;
  }

  static Tensor in_words(const Tensor& bytes, const Wider& to) {
    Tensor result(to.storage, bytes.shape());
    const std::vector<std::int64_t> values = bytes.to_int64();
    const auto fill = [&](auto words) {
      std::transform(values.begin(), values.end(), words.begin(), [&](std::int64_t value) {
        return static_cast<typename decltype(words)::value_type>(
            to.of(static_cast<std::int32_t>(value), bytes.dtype()));
      });
    };
    if (to.storage == DType::kInt16) {
      fill(result.mutable_view<std::int16_t>());
    } else {
      fill(result.mutable_view<std::uint16_t>());
    }
    return result;
  }

  /// Computes the value in 16 bits and rounds it to 8 behind that.
  void narrow_behind(ValueId value, const Wider& to) {
    const TensorType type = graph_.type(value);
    const std::string name = graph_.name(value);
    graph_.set_type(value, to.of(type));
    const std::string wide_name = name_of("wide", value);
    const ValueId narrow = converted(value, type, graph_.unique_name(name));
    graph_.replace_uses(value, narrow);
    graph_.set_input(*graph_.producer(narrow), 0, value);
    take_name(graph_, value, wide_name);
    take_name(graph_, narrow, name);
  }

  /// As storage values of another real one are called, so that files say the same.
  std::string name_of(const std::string& how, ValueId value) const {
    return graph_.unique_name(quantized_name(original_name(graph_, value) + "_" + how));
  }

  ValueId converted(ValueId value, const TensorType& type, const std::string& name) {
    const NodeId id =
        graph_.add_node(name, "Requantize", {value}, {{name, type}}, to_attributes(mode_));
    return graph_.node(id).outputs[0];
  }

  Graph graph_;
  RequantizeMode mode_;
  std::map<std::pair<ValueId, Wider>, ValueId> widened_;
};

}  // namespace

Graph with_equal_widths(Graph integer, const Target& target, const RequantizeMode& mode) {
  return has_wide_kernels(target) ? WidthMatcher(std::move(integer), mode).run() : integer;
}

}  // namespace tare
