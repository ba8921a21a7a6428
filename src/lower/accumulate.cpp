// Finds sums of products in a graph of conversions and makes integer sums of them: both factors
// dequantized from 8 or 16 bits, scales that do not vary along what is summed over, and a bias
// that fits int32 at the scale of the sum (Jacob et al., 2018, section 2.4, as in lower.cpp).
// Files of other tools need not keep to that; where one does not, the product stays real, as
// the file says. One look at each node.
#include "graph/arithmetic/node_arithmetic.h"
#include "graph/arithmetic/storage_type.h"
#include "graph/ir/derived_names.h"
#include "graph/operators/product.h"
#include "lower/affine_rewrites.h"
#include "lower/conversions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace tare {
namespace {

/// Where the parts of a sum of products have their channels.
struct ProductOp {
  std::string_view op;
  int result_axis;  ///< of the result; -1: the last
};

constexpr std::array kProductOps{
    ProductOp{"Conv", 1},
    ProductOp{"ConvTranspose", 1},
    ProductOp{"Gemm", -1},
    ProductOp{"MatMul", -1},
};

int at(int axis, const Shape& shape) {
  return axis < 0 ? axis + static_cast<int>(shape.size()) : axis;
}

/// Readers of the node read what its sum in integers expresses, and both take over the names.
void express_sum(Graph& graph, NodeId node, NodeId sum) {
  const ValueId real = graph.node(node).outputs[0];
  const std::string name = graph.name(real);
  const ValueId expressed =
      add_dequantize(graph, graph.node(sum).outputs[0], dequantized_name(name));
  graph.replace_uses(real, expressed);
  take_place(graph, node, sum);
  take_name(graph, expressed, name);
}

class IntegerSum {
 public:
  IntegerSum(Graph& graph, NodeId id, const ProductOp& product, const Accumulator& held)
      : graph_(graph), id_(id), node_(graph.node(id)), product_(product), held_(held) {}

  /// Leaves the graph as it is where the sum cannot run on integers.
  void run() {
    const ValueId x = factor(0);
    const ValueId w = factor(1);
    if (!x || !w || !is_canonical()) {
      return;
    }
    TensorType type = graph_.type(node_.outputs[0]);
    const auto params = accumulator(*graph_.type(x).quant, *graph_.type(w).quant);
    if (!params) {
      return;
    }
    type.dtype = params->storage;
    type.quant = params;
    std::vector<ValueId> operands{x, w};
    if (node_.inputs.size() > 2 && node_.inputs[2]) {
      const ValueId bias = accumulated_bias(node_.inputs[2], *params);
      if (!bias) {
        return;
      }
      operands.push_back(bias);
    }
    Attributes attributes = node_.attributes;
    set_accumulator(attributes, held_);
    const NodeId sum = graph_.add_node(
        graph_.unique_name(node_.name), node_.op, operands,
        {{graph_.unique_name(accumulated_name(graph_.name(node_.outputs[0]))), type}},
        attributes);
    express_sum(graph_, id_, sum);
  }

 private:
  /// Storage values of operand i, of 8 or 16 bits, or absent.
  ValueId factor(std::size_t i) const {
    if (!is_op(graph_, node_.inputs[i], "Dequantize")) {
      return {};
    }
    const ValueId storage = operand_of(graph_, node_.inputs[i]);
    return is_sum_type(graph_.type(storage).quant->storage) ? ValueId{} : storage;
  }

  /// Factors and a transposed operand that preparing would have taken out stay in float.
  bool is_canonical() const {
    const Attributes& attributes = node_.attributes;
    return node_.op != "Gemm" ||
           (attributes.real("alpha", 1) == 1 && attributes.real("beta", 1) == 1 &&
            attributes.integer("transA", 0) == 0);
  }

  int weight_axis(const Shape& weights) const {
    return static_cast<int>(weight_layout(node_, weights.size()).output);
  }

  /// Scales are the products; nothing when the weights' channels are not the result's.
  std::optional<QuantParams> accumulator(const QuantParams& x, const QuantParams& w) const {
    const Shape& weights = graph_.type(node_.inputs[1]).shape;
    const Shape& result = graph_.type(node_.outputs[0]).shape;
    const bool grouped = node_.attributes.integer("group", 1) != 1;
    if (x.per_axis() || w.block != 0 ||
        (w.axis &&
         (*w.axis != weight_axis(weights) || (node_.op == "ConvTranspose" && grouped)))) {
      return std::nullopt;
    }
    QuantParams params{.storage = sum_type(x.storage, w.storage, held_),
                       .scale = w.scale,
                       .zero_point = std::vector<std::int32_t>(w.scale.size()),
                       .axis = {},
                       .narrow_range = false};
    for (float& scale : params.scale.mutable_view()) {
      scale *= x.scale[0];
    }
    if (w.axis) {
      params.axis = at(product_.result_axis, result);
    }
    return params;
  }

  /// The bias at the scale of the accumulator; absent where it is computed, does not fit, or is
  /// no row of one number for each channel.
  ValueId accumulated_bias(ValueId bias, QuantParams params) {
    const Shape& result = graph_.type(node_.outputs[0]).shape;
    const auto channels = static_cast<std::size_t>(at(product_.result_axis, result));
    if (graph_.type(bias).shape != Shape{result[channels]}) {
      return {};
    }
    params.storage = DType::kInt32;
    if (params.axis) {
      params.axis = 0;
    }
    if (const Tensor* real = graph_.constant(bias)) {
      return fitting(*real, params, graph_.name(bias));
    }
    if (!is_op(graph_, bias, "Dequantize")) {
      return {};
    }
    const ValueId storage = operand_of(graph_, bias);
    const Tensor* constant = graph_.constant(storage);
    if (constant == nullptr) {
      return {};
    }
    const TensorType& type = graph_.type(storage);
    return type.quant == params ? storage
                                : fitting(dequantize(*constant, *type.quant), params,
                                          original_name(graph_.name(storage)));
  }

  /// By value: what is added to the graph moves the names of its values.
  ValueId fitting(const Tensor& real, const QuantParams& params, std::string name) {
    constexpr double kMost = std::numeric_limits<std::int32_t>::max();
    const Tensor storage = quantize(real, params);
    const auto integers = storage.to_double();
    if (std::any_of(integers.begin(), integers.end(),
                    [](double q) { return std::abs(q) >= kMost; })) {
      return {};
    }
    name = quantized_name(name);
    const ValueId bias = graph_.add_constant(
        graph_.unique_name(name), storage,
        {.dtype = DType::kInt32, .shape = real.shape(), .quant = params, .point = {}});
    take_name(graph_, bias, name);
    return bias;
  }

  Graph& graph_;
  const NodeId id_;
  const Node node_;
  const ProductOp& product_;
  const Accumulator held_;
};

/// The parameters of int32 sums, or of a constant like them, behind a Dequantize.
const std::optional<QuantParams>& sum_parameters(const Graph& graph, ValueId value) {
  static const std::optional<QuantParams> kNone;
  if (!is_op(graph, value, "Dequantize")) {
    return kNone;
  }
  const auto& params = graph.type(operand_of(graph, value)).quant;
  return params->storage == DType::kInt32 ? params : kNone;
}

/// A constant with the parameters of the sums that it is added to is added on integers.
void add_to_sums(Graph& graph, NodeId id) {
  const Node add = graph.node(id);
  const auto& params = sum_parameters(graph, add.inputs[0]);
  const bool alike = params && !params->per_axis() && params->zero_point[0] == 0 &&
                     params == sum_parameters(graph, add.inputs[1]);
  if (!alike) {
    return;
  }
  std::vector<ValueId> operands{operand_of(graph, add.inputs[0]),
                                operand_of(graph, add.inputs[1])};
  if ((graph.constant(operands[0]) == nullptr) == (graph.constant(operands[1]) == nullptr)) {
    return;
  }
  TensorType type = graph.type(add.outputs[0]);
  type.dtype = DType::kInt32;
  type.quant = params;
  const std::string name = accumulated_name(graph.name(add.outputs[0]));
  const NodeId sum = graph.add_node(graph.unique_name(add.name), "Add", std::move(operands),
                                    {{graph.unique_name(name), type}});
  express_sum(graph, id, sum);
}

}  // namespace

void accumulate_products(Graph& graph, const NetworkArithmetic& arithmetic) {
  for (const NodeId id : graph.topological_order()) {
    const auto* product =
        std::find_if(kProductOps.begin(), kProductOps.end(),
                     [&](const ProductOp& p) { return p.op == graph.node(id).op; });
    if (product != kProductOps.end()) {
      const Accumulator& held = arithmetic.of(graph.node(id).name).accumulator;
      IntegerSum(graph, id, *product, held).run();
    } else if (graph.node(id).op == "Add") {
      add_to_sums(graph, id);
    }
  }
  graph.erase_unused();
}

}  // namespace tare
