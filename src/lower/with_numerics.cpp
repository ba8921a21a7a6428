// Whose arithmetic each operator follows. Engines round at other places and multiply by other
// ratios than ONNX says: TensorFlow Lite in fixed point (docs/tflite.md), once or twice, by
// factors that are made in float or double depending on kernel and type; XNNPACK mostly in
// float32; TVM in fixed point. Each choice here is that of the kernel which the engine takes
// there.

#include "tare/graph.h"
#include "tare/integer_graph.h"

#include "graph/arithmetic/node_arithmetic.h"
#include "graph/operators/affine_ops.h"
#include "graph/operators/product.h"
#include "lower/integer_averages.h"

#include <algorithm>
#include <cmath>

namespace tare {
namespace {

bool is_tflite(Numerics numerics) {
  return numerics == Numerics::kTfliteRef || numerics == Numerics::kTfliteBuiltin ||
         numerics == Numerics::kTfliteXnn;
}

bool is_byte(DType storage) {
  return size_of(storage) == 1;
}

/// How a Requantize rounds, and by what it multiplies; no factors: the ratios of the types'
/// scales.
struct Rescaling {
  RequantizeMode mode;
  std::vector<FixedPointFactor> factors;
};

Rescaling in_fixed_point(RequantizeRounding rounding, const std::vector<double>& factors) {
  Rescaling result{requantize_mode(rounding), {}};
  for (const double factor : factors) {
    result.factors.push_back(fixed_point_factor(factor));
  }
  return result;
}

/// What TensorFlow Lite multiplies sums of products by: the ratio of three scales in double, or
/// where both factors have one scale each and the result is uint8, or they are matrices, with
/// the product of the first two in float32.
std::vector<double> sum_factors(const Graph& graph, const Node& product,
                                const QuantParams& to) {
  const QuantParams& x = *graph.type(product.inputs[0]).quant;
  const QuantParams& w = *graph.type(product.inputs[1]).quant;
  const auto scale_to = static_cast<double>(to.scale[0]);
  const bool is_matrix = product.op == "Gemm" || product.op == "MatMul";
  const bool in_float = !w.per_axis() && (is_matrix || to.storage == DType::kUint8);
  std::vector<double> factors;
  for (const float scale : w.scale) {
    const double both = in_float ? static_cast<double>(x.scale[0] * scale)
                                 : static_cast<double>(x.scale[0]) * static_cast<double>(scale);
    factors.push_back(both / scale_to);
  }
  return factors;
}

/// One input channel for each group. (Of a single channel nothing tells it from others.)
bool is_depthwise(const Graph& graph, const Node& product) {
  return product.op == "Conv" && product.attributes.integer("group", 1) > 1 &&
         graph.type(product.inputs[1]).shape[1] == 1;
}

/// XNNPACK does not take depthwise kernels that are dilated and make several channels of one.
bool is_for_xnnpack(const Graph& graph, const Node& product) {
  const auto dilations = product.attributes.integers("dilations", std::vector<std::int64_t>());
  const bool dilates = std::any_of(dilations.begin(), dilations.end(),
                                   [](std::int64_t dilation) { return dilation > 1; });
  return !dilates || !is_depthwise(graph, product) ||
         graph.type(product.inputs[1]).shape[0] == product.attributes.integer("group");
}

Rescaling of_sums(const Graph& graph, const Node& product, const QuantParams& to,
                  Numerics numerics) {
  if (numerics == Numerics::kTfliteXnn && is_for_xnnpack(graph, product)) {
    return {};
  }
  const bool once = numerics != Numerics::kTfliteRef && to.storage == DType::kInt8 &&
                    product.op != "ConvTranspose" && !is_depthwise(graph, product);
  return in_fixed_point(
      once ? RequantizeRounding::kTfliteSingle : RequantizeRounding::kTfliteDouble,
      sum_factors(graph, product, to));
}

/// QUANTIZE multiplies by a ratio in double, RELU and its kin by one in float32.
Rescaling of_storage(const Graph& graph, const Node& node, Numerics numerics) {
  const QuantParams& from = *graph.type(node.inputs[0]).quant;
  const ValueId result = node.outputs[0];
  const QuantParams& to = *graph.type(result).quant;
  const bool rectifies =
      graph.single_use(result) && is_activation(graph.node(graph.users(result)[0]));
  const float ratio = from.scale[0] / to.scale[0];
  if (numerics == Numerics::kTfliteXnn && !rectifies && from.storage == to.storage &&
      is_byte(to.storage)) {
    const float eighth_bits = std::rint(256 * ratio);
    return in_fixed_point(RequantizeRounding::kTfliteSingle,
                          {static_cast<double>(eighth_bits) / 256});
  }
  const double in_double =
      static_cast<double>(from.scale[0]) / static_cast<double>(to.scale[0]);
  return in_fixed_point(RequantizeRounding::kTfliteDouble,
                        {rectifies ? static_cast<double>(ratio) : in_double});
}

Rescaling rescaling(const Graph& graph, const Node& node, Numerics numerics) {
  switch (numerics) {
    case Numerics::kOnnxRuntime:
    case Numerics::kOnnx:
      return {};
    case Numerics::kTvmUpward:
      return {requantize_mode(RequantizeRounding::kUpward), {}};
    case Numerics::kTvmToNearest:
      return {requantize_mode(RequantizeRounding::kToNearest), {}};
    default:
      break;
  }
  const ValueId from = node.inputs[0];
  const auto producer = graph.producer(from);
  const bool is_sum = producer && is_integer_product(graph, graph.node(*producer));
  return is_sum ? of_sums(graph, graph.node(*producer), *graph.type(node.outputs[0]).quant,
                          numerics)
         : graph.type(from).quant->per_axis() ? Rescaling{}
                                              : of_storage(graph, node, numerics);
}

/// Whether engines may round differently there. What picks or copies values is the same
/// everywhere.
bool rounds(const Graph& graph, const Node& node) {
  const auto& to = graph.type(node.outputs[0]).quant;
  if (!to || is_integer_product(graph, node)) {
    return false;
  }
  const AffineOp* row = find_affine_op(graph, node);
  if (row == nullptr ||
      (row->rule != AffineRule::kRounds && row->rule != AffineRule::kTabulates)) {
    return false;
  }
  const bool copies = node.op == "Concat" || node.op == "Max" || node.op == "Min";
  return !copies || std::any_of(node.inputs.begin(), node.inputs.end(),
                                [&](ValueId input) { return graph.type(input).quant != to; });
}

/// What TVM has integer arithmetic of its own for, and ONNX Runtime an order of its own; the
/// rest they compute in real values.
bool is_arithmetic(const Node& node) {
  return node.op == "Add" || node.op == "Sub" || node.op == "Mul";
}

/// As engines add up: without overflow.
void widen_accumulator(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (!states_accumulator(node.attributes)) {
    return;
  }
  TensorType type = graph.type(node.outputs[0]);
  type.dtype = sum_type(graph.type(node.inputs[0]).dtype, graph.type(node.inputs[1]).dtype, {});
  type.quant->storage = type.dtype;
  graph.set_type(node.outputs[0], std::move(type));
  Attributes attributes = node.attributes;
  set_accumulator(attributes, {});
  graph.set_attributes(id, std::move(attributes));
}

}  // namespace

Graph with_numerics(Graph integer, Numerics numerics) {
  for (const NodeId id : integer.nodes()) {
    const Node& node = integer.node(id);
    if (is_integer_product(integer, node)) {
      widen_accumulator(integer, id);
    }
    if (node.op == "Requantize") {
      const Rescaling chosen = rescaling(integer, node, numerics);
      Attributes attributes = to_attributes(chosen.mode);
      if (!chosen.factors.empty()) {
        set_fixed_point_factors(attributes, chosen.factors);
      }
      integer.set_attributes(id, attributes);
      continue;
    }
    if (is_tflite(numerics) && may_average_integers(integer, node)) {
      average_integers(integer, id);
      continue;
    }
    const bool follows = is_tflite(numerics) ? node.op == "Quantize" || rounds(integer, node)
                                             : is_arithmetic(node) && rounds(integer, node);
    Attributes attributes = node.attributes;
    set_numerics(attributes, follows ? numerics : Numerics::kOnnxRuntime);
    integer.set_attributes(id, attributes);
  }
  return integer;
}

}  // namespace tare
