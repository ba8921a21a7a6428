// Products whose operand gets its parameters while the network runs, in the operators that ONNX
// has for that. ONNX Runtime makes one kernel of those around a MatMulInteger. For recurrent
// layers it has one operator of its own.
#include "tare/simulate.h"

#include "graph/arithmetic/onnx_number.h"
#include "graph/operators/permute.h"
#include "graph/operators/product.h"
#include "lower/affine_rewrites.h"
#include "simulate/quantized_constants.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace tare {
namespace {

TensorType tensor(DType dtype, Shape shape = {}) {
  return {.dtype = dtype, .shape = std::move(shape), .quant = {}, .point = {}};
}

/// The same storage values and zero points in u8, at the same distance.
void make_unsigned(Tensor& values, std::vector<std::int32_t>& zero_points) {
  constexpr int kShift = 128;
  Tensor shifted(DType::kUint8, values.shape());
  const auto to = shifted.mutable_view<std::uint8_t>();
  const auto from = values.view<std::int8_t>();
  std::transform(from.begin(), from.end(), to.begin(),
                 [](std::int8_t v) { return static_cast<std::uint8_t>(v + kShift); });
  for (std::int32_t& zero_point : zero_points) {
    zero_point += kShift;
  }
  values = std::move(shifted);
}

Tensor row_of(const std::vector<float>& values) {
  return Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values);
}

/// Numbers of 8 bits.
Tensor in_storage(std::span<const std::int32_t> values, DType dtype) {
  Tensor result(dtype, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) {
    result.mutable_data()[i] = static_cast<std::byte>(values[i]);
  }
  return result;
}

/// The same in each direction, of which `shape` has the number first: one number for all
/// results of a direction, or one for each.
Tensor in_directions(const Tensor& of_one, const Shape& shape) {
  const auto size = of_one.size() * size_of(of_one.dtype());
  const bool varies = of_one.size() > 1;
  Tensor result(of_one.dtype(), varies ? shape : Shape{shape[0]});
  for (std::size_t i = 0; i < static_cast<std::size_t>(shape[0]); ++i) {
    std::copy_n(of_one.data(), size, result.mutable_data() + i * size);
  }
  return result;
}

class DynamicProducts {
 public:
  explicit DynamicProducts(Graph& graph) : graph_(graph) {}

  void rewrite(NodeId id, const std::vector<const PointResult*>& weights) {
    if (graph_.node(id).op == "LSTM") {
      rewrite_lstm(id, *weights.at(0), *weights.at(1));
    } else {
      rewrite_product(id, *weights.at(0));
    }
  }

 private:
  void rewrite_product(NodeId id, const PointResult& weights) {
    const Node node = graph_.node(id);
    const ValueId before = node.outputs[0];
    const Shape shape = graph_.type(before).shape;
    name_ = graph_.name(before);
    const std::size_t channels_end =
        shape.size() - static_cast<std::size_t>(channel_axis(node, shape));
    const Operand x = quantized(node.inputs[0]);
    const ValueId integer_sum = multiply(node, x, weights, shape);
    const ValueId sum = add("Cast", {integer_sum}, tensor(DType::kFloat32, shape), "_cast",
                            {{"to", onnx_number(DType::kFloat32)}});
    const ValueId weight_scale =
        row(weights.params.scale.to_vector(), channels_end, "_weight_scale");
    const ValueId scale =
        add("Mul", {x.scale, weight_scale},
            tensor(DType::kFloat32, graph_.type(weight_scale).shape), "_scale");
    ValueId result = add("Mul", {sum, scale}, tensor(DType::kFloat32, shape), "_scaled");
    if (node.inputs.size() > 2 && node.inputs[2]) {
      result = add("Add", {result, bias(node, channels_end)}, tensor(DType::kFloat32, shape),
                   "_biased");
    }
    graph_.replace_uses(before, result);
    graph_.erase(id);
    graph_.rename(result, name_);
    graph_.rename(*graph_.producer(integer_sum), node.name);
  }

  void rewrite_lstm(NodeId id, const PointResult& w, const PointResult& r) {
    const Node node = graph_.node(id);
    name_ = node.name;
    constexpr std::size_t kOfLstm = 8;
    std::vector<ValueId> inputs = node.inputs;
    inputs.resize(kOfLstm);
    const std::array points{&w, &r};
    for (std::size_t i = 0; i < points.size(); ++i) {
      QuantParams params = points[i]->params;
      const std::string suffix = i == 0 ? "_weight" : "_recurrent_weight";
      Tensor values = quantized_weight(*graph_.constant(node.inputs[i + 1]), *points[i]);
      centre(values, params);
      std::vector<std::int32_t> zero_points = params.zero_point.to_vector();
      if (values.dtype() == DType::kInt8) {
        // As fast, and exact on processors whose sums of u8 * i8 saturate.
        make_unsigned(values, zero_points);
      }
      const Shape rows{values.shape()[0], values.shape()[1]};
      const DType storage = values.dtype();
      inputs[i + 1] = constant(permuted(values, {0, 2, 1}), suffix);
      inputs.push_back(
          constant(in_directions(row_of(params.scale.to_vector()), rows), suffix + "_scale"));
      inputs.push_back(constant(in_directions(in_storage(zero_points, storage), rows),
                                suffix + "_zero_point"));
    }
    std::vector<NamedType> results;
    for (const ValueId result : node.outputs) {
      results.push_back({graph_.unique_name(graph_.name(result)), graph_.type(result)});
    }
    Attributes attributes = node.attributes;
    attributes.erase("layout");  // 0, as the operator has it, whose checker knows no such key
    const NodeId integer = graph_.add_node("", "DynamicQuantizeLSTM", std::move(inputs),
                                           std::move(results), std::move(attributes));
    const std::vector<ValueId> after = graph_.node(integer).outputs;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < after.size(); ++i) {
      names.push_back(graph_.name(node.outputs[i]));
      graph_.replace_uses(node.outputs[i], after[i]);
    }
    graph_.erase(id);
    for (std::size_t i = 0; i < after.size(); ++i) {
      graph_.rename(after[i], names[i]);
    }
    graph_.rename(integer, node.name);
  }

  struct Operand {
    ValueId values;
    ValueId scale;
    ValueId zero_point;
  };

  /// The same for all products that read it.
  Operand quantized(ValueId value) {
    const auto known = operands_.find(value);
    if (known != operands_.end()) {
      return known->second;
    }
    const std::string& name = graph_.name(value);
    const NodeId id =
        graph_.add_node("", "DynamicQuantizeLinear", {value},
                        {{graph_.unique_name(name + "_quantized"),
                          tensor(DType::kUint8, graph_.type(value).shape)},
                         {graph_.unique_name(name + "_scale"), tensor(DType::kFloat32)},
                         {graph_.unique_name(name + "_zero_point"), tensor(DType::kUint8)}});
    const auto& results = graph_.node(id).outputs;
    return operands_[value] = {results[0], results[1], results[2]};
  }

  ValueId multiply(const Node& node, const Operand& x, const PointResult& weights,
                   const Shape& shape) {
    const bool convolves = node.op == "Conv";
    Tensor values = quantized_weight(*graph_.constant(node.inputs[1]), weights);
    QuantParams params = weights.params;
    centre(values, params);
    std::vector<std::int32_t> zero_points = params.zero_point.to_vector();
    if (convolves && values.dtype() == DType::kInt8) {
      make_unsigned(values, zero_points);  // ONNX Runtime convolves u8 with u8 only
    }
    if (node.op == "Gemm" && weight_layout(node, 2).output == 0) {
      values = permuted(values, {1, 0});
    }
    Attributes attributes = convolves ? node.attributes : Attributes{};
    return add(convolves ? "ConvInteger" : "MatMulInteger",
               {x.values, constant(values, "_weight"), x.zero_point,
                zero_point(values.dtype(), zero_points)},
               tensor(DType::kInt32, shape), "_sum", std::move(attributes));
  }

  /// One for all channels where they have the same.
  ValueId zero_point(DType dtype, std::vector<std::int32_t> values) {
    Shape shape{static_cast<std::int64_t>(values.size())};
    if (std::all_of(values.begin(), values.end(), [&](int v) { return v == values[0]; })) {
      values.resize(1);
      shape.clear();
    }
    return constant(in_storage(values, dtype).reshaped(shape), "_weight_zero_point");
  }

  ValueId bias(const Node& node, std::size_t rank) {
    const Tensor& values = *graph_.constant(node.inputs[2]);
    const auto numbers = values.view<float>();
    return row({numbers.begin(), numbers.end()}, rank, "_bias");
  }

  /// One number, or one for each channel in a shape of that rank that broadcasts.
  ValueId row(const std::vector<float>& values, std::size_t rank, const std::string& suffix) {
    Shape shape;
    if (values.size() > 1) {
      shape.assign(rank, 1);
      shape[0] = static_cast<std::int64_t>(values.size());
    }
    return constant(Tensor::of<float>(shape, values), suffix);
  }

  ValueId constant(Tensor tensor, const std::string& suffix) {
    return graph_.add_constant(graph_.unique_name(name_ + suffix), std::move(tensor));
  }

  ValueId add(const std::string& op, std::vector<ValueId> inputs, TensorType type,
              const std::string& suffix, Attributes attributes = {}) {
    const NodeId id = graph_.add_node("", op, std::move(inputs),
                                      {{graph_.unique_name(name_ + suffix), std::move(type)}},
                                      std::move(attributes));
    return graph_.node(id).outputs[0];
  }

  Graph& graph_;
  std::string name_;  ///< of the result that is being rewritten
  std::map<ValueId, Operand> operands_;
};

}  // namespace

void expand_dynamic_products(Graph& graph, const SimulatedGraph& simulated,
                             const QuantTable& table) {
  DynamicProducts products(graph);
  for (const DynamicProduct& product : simulated.dynamic) {
    if (!is_enabled(product, table)) {
      continue;
    }
    std::vector<const PointResult*> weights;
    for (const std::string& weight : product.weights) {
      weights.push_back(&table.at(weight));
    }
    const std::string& name = simulated.source.node(product.node).name;
    products.rewrite(*graph.find_node(name), weights);
  }
}

}  // namespace tare
