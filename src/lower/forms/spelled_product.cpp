// Reads a product of dequantized factors from ConvInteger or MatMulInteger and the arithmetic
// around it, as to_integer_operators() and other tools spell it. A sum with several readers is
// matched once for each, and becomes one product again in the end.
#include "lower/forms/spelled_product.h"

#include "tare/graph.h"

#include "lower/forms/spelled_parameters.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tare {
namespace {

/// Says for unite_products() what a product was read from.
constexpr const char* kReadFrom = "tare.read_from";

/// 8-bit storage values and their zero points.
struct Factor {
  ValueId values;
  SpelledRow zero_points;
};

/// Operand i of a ConvInteger or MatMulInteger.
std::optional<Factor> factor_of(const Graph& graph, const Node& product, std::size_t i) {
  constexpr std::int32_t kSignBit = 128;
  Factor factor{product.inputs[i], {{0}, {}}};
  const bool has_zero = product.inputs.size() > i + 2 && product.inputs[i + 2];
  if (has_zero) {
    const Tensor* zero = graph.constant(product.inputs[i + 2]);
    if (zero == nullptr || zero->size() == 0 || zero->shape().size() > 1) {
      return std::nullopt;
    }
    factor.zero_points.values = zero->to_float();
  }
  // i8 in the guise of u8.
  static const Pattern shifted =
      op("Cast").with(op("Add").with(op("Cast").with(any().as("signed")), scalar(kSignBit)));
  const auto producer = graph.producer(factor.values);
  const auto match = producer ? shifted.match(graph, *producer) : std::nullopt;
  if (match && graph.type(factor.values).dtype == DType::kUint8 &&
      graph.type(match->value("signed")).dtype == DType::kInt8) {
    factor.values = match->value("signed");
    for (float& zero : factor.zero_points.values) {
      zero -= kSignBit;
    }
  }
  return factor;
}

class ProductReader {
 public:
  ProductReader(Patch& patch, const Graph& graph, const Match& match)
      : patch_(patch),
        graph_(graph),
        match_(match),
        product_(graph.node(match.node("product"))),
        type_(graph.type(product_.outputs[0])),
        rank_(type_.shape.size()),
        convolves_(product_.op == "ConvInteger") {
    type_.dtype = DType::kFloat32;
  }

  ValueId read() {
    if (rank_ < 2 || graph_.type(product_.inputs[1]).shape.size() < 2) {
      return {};  // a vector has no channels
    }
    const auto x_scale = row_of(graph_, match_.value("x_scale"), rank_);
    const auto w_scale = row_of(graph_, match_.value("w_scale"), rank_);
    const bool lie_along_channels = x_scale && !x_scale->axis && w_scale &&
                                    (!w_scale->axis || *w_scale->axis == channel_axis());
    const auto x = factor_of(graph_, product_, 0);
    const auto w = factor_of(graph_, product_, 1);
    if (!lie_along_channels || !x || !w) {
      return {};
    }
    SpelledRow scales = *w_scale;
    SpelledRow zeros = w->zero_points;
    if (!scales.axis) {
      scales.values.resize(zeros.values.size(), scales.values[0]);
    }
    if (scales.values.size() > 1) {
      const auto rank = static_cast<std::int64_t>(graph_.type(w->values).shape.size());
      scales.axis = convolves_ ? 0 : rank - 1;
      zeros.axis = zeros.values.size() > 1 ? scales.axis : std::nullopt;
    }
    std::vector<ValueId> operands{dequantized(x->values, *x_scale, x->zero_points),
                                  dequantized(w->values, scales, zeros)};
    if (match_.has("bias")) {
      operands.push_back(bias(x_scale->values[0], scales));
    }
    for (const ValueId operand : operands) {
      if (!operand) {
        return {};
      }
    }
    const std::string op = convolves_ ? "Conv" : operands.size() > 2 ? "Gemm" : "MatMul";
    Attributes attributes = product_.attributes;
    attributes.set(kReadFrom, product_.name);
    return patch_.add(op, operands, type_, product_.name, std::move(attributes));
  }

 private:
  std::int64_t channel_axis() const {
    return convolves_ ? 1 : static_cast<std::int64_t>(rank_) - 1;
  }

  ValueId dequantized(ValueId values, const SpelledRow& scales, const SpelledRow& zeros) {
    const auto parameters = parameters_of(scales, zeros, patch_.type(values).dtype);
    return parameters ? add_linear(patch_, "DequantizeLinear", values, *parameters,
                                   DType::kFloat32, product_.name + "_dequantized")
                      : ValueId{};
  }

  /// A row of int32 for the channels, dequantized at the product of both scales.
  ValueId bias(float x_scale, SpelledRow scales) {
    const Tensor& tensor = *graph_.constant(match_.value("bias"));
    const Shape& shape = tensor.shape();
    const auto axis = static_cast<std::size_t>(channel_axis());
    const std::int64_t channels = type_.shape[axis];
    const std::size_t place = rank_ - axis;
    const bool is_row = tensor.dtype() == DType::kInt32 && tensor.size() == channels &&
                        shape.size() >= place && shape[shape.size() - place] == channels;
    if (!is_row || (!convolves_ && rank_ != 2)) {
      return {};
    }
    for (float& scale : scales.values) {
      scale *= x_scale;
    }
    if (scales.axis) {
      scales.axis = 0;
    }
    const ValueId row =
        patch_.add_constant(graph_.name(match_.value("bias")),
                            Tensor::of<std::int32_t>({channels}, tensor.view<std::int32_t>()));
    return dequantized(row, scales, {{0}, {}});
  }

  Patch& patch_;
  const Graph& graph_;
  const Match& match_;
  const Node& product_;
  TensorType type_;
  std::size_t rank_;
  bool convolves_;
};

bool have_equal_operands(const Graph&, const Node&, const Node&);

/// One value, equal constants, or these dequantized in the same way.
bool are_equal(const Graph& graph, ValueId a, ValueId b) {
  const Tensor* left = graph.constant(a);
  const Tensor* right = graph.constant(b);
  if (a == b || left != nullptr || right != nullptr) {
    return a == b || (left != nullptr && right != nullptr && *left == *right);
  }
  const auto is_conversion = [&](ValueId value) {
    return graph.producer(value) && graph.node(*graph.producer(value)).op == "DequantizeLinear";
  };
  return is_conversion(a) && is_conversion(b) &&
         have_equal_operands(graph, graph.node(*graph.producer(a)),
                             graph.node(*graph.producer(b)));
}

bool have_equal_operands(const Graph& graph, const Node& a, const Node& b) {
  return a.op == b.op && a.attributes == b.attributes &&
         std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(),
                    [&](ValueId x, ValueId y) { return are_equal(graph, x, y); });
}

}  // namespace

Pattern integer_sum_pattern() {
  const Pattern product = op_of({"ConvInteger", "MatMulInteger"}).as("product");
  return op("Cast").with(op("Add").with(product, constant().as("bias")) | product);
}

Pattern product_scale_pattern() {
  return op("Mul").with(constant().as("x_scale"), constant().as("w_scale"));
}

ValueId add_real_product(Patch& patch, const Graph& graph, const Match& match) {
  return ProductReader(patch, graph, match).read();
}

void unite_products(Graph& graph) {
  std::map<std::string, std::vector<NodeId>> products;  // by what they were read from
  for (const NodeId id : graph.topological_order()) {
    Attributes attributes = graph.node(id).attributes;
    if (!attributes.has(kReadFrom)) {
      continue;
    }
    std::vector<NodeId>& alike = products[attributes.text(kReadFrom)];
    attributes.erase(kReadFrom);
    graph.set_attributes(id, std::move(attributes));
    const Node& node = graph.node(id);
    const auto same = std::find_if(alike.begin(), alike.end(), [&](NodeId other) {
      return have_equal_operands(graph, node, graph.node(other));
    });
    if (same == alike.end() || graph.is_output(node.outputs[0])) {
      alike.push_back(id);
    } else {
      graph.replace_uses(node.outputs[0], graph.node(*same).outputs[0]);
    }
  }
  graph.erase_unused();
}

}  // namespace tare
