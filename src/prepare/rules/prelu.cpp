// Relu(x) + slope * (x - Abs(x)) / 2 -> PRelu(x, slope)
// Relu(x) - slope * Relu(-x)         -> PRelu(x, slope)
// Relu(x) + slope * Min(x, 0)        -> PRelu(x, slope)
//
// With one slope for all, LeakyRelu. TensorFlow has no such operator, so networks write it out,
// in whatever order the factors come.
#include "tare/graph.h"
#include "tare/pattern.h"

#include "prepare/constants.h"
#include "prepare/interval.h"
#include "prepare/product.h"

#include <cmath>
#include <limits>

namespace tare {
namespace {

/// x where the value is a Relu of x.
std::optional<ValueId> relu_operand(const Graph& graph, ValueId value) {
  const auto producer = graph.producer(value);
  if (!producer || graph.node(*producer).inputs.empty()) {
    return std::nullopt;
  }
  const auto interval = interval_of(graph, graph.node(*producer));
  return interval && interval->is_relu() ? std::optional(graph.node(*producer).inputs[0])
                                         : std::nullopt;
}

/// How many times Min(x, 0) the value is; nothing where it is none of it.
std::optional<double> negative_part(const Graph& graph, ValueId value, ValueId x) {
  if (const Node* difference = computed_by(graph, value, "Sub")) {
    const auto is_magnitude = [&](ValueId operand) {
      const Node* magnitude = computed_by(graph, operand, "Abs");
      return magnitude != nullptr && magnitude->inputs[0] == x;
    };
    if (difference->inputs[0] == x && is_magnitude(difference->inputs[1])) {
      return 2;
    }
    return difference->inputs[1] == x && is_magnitude(difference->inputs[0])
               ? std::optional(-2.0)
               : std::nullopt;
  }
  if (const auto negated = relu_operand(graph, value)) {
    const Product product = product_of(graph, *negated);
    return product.coefficient == -1 && product.factors == std::vector{x} ? std::optional(-1.0)
                                                                          : std::nullopt;
  }
  const Node* clip = computed_by(graph, value, "Clip");
  const auto interval = clip == nullptr ? std::nullopt : interval_of(graph, *clip);
  const bool is_minimum = interval && interval->high == 0 &&
                          interval->low == -std::numeric_limits<float>::infinity();
  return is_minimum && clip->inputs[0] == x ? std::optional(1.0) : std::nullopt;
}

struct Rectifier {
  ValueId x;
  Tensor slope;  ///< of rank 0 where all elements have the same
};

/// The slope of a product of constants and a negative part.
std::optional<Tensor> slope_of(const Graph& graph, ValueId value, ValueId x) {
  const Product product = product_of(graph, value);
  if (product.factors.empty() || product.factors.size() > 2) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < product.factors.size(); ++i) {
    const auto times = negative_part(graph, product.factors[i], x);
    if (!times) {
      continue;
    }
    const double factor = *times * product.coefficient;
    if (product.factors.size() == 1) {
      return rounded({}, std::vector{factor});
    }
    const Tensor* slopes = graph.constant(product.factors[1 - i]);
    if (slopes == nullptr || slopes->dtype() != DType::kFloat32) {
      return std::nullopt;
    }
    std::vector<double> elements = slopes->to_double();
    for (double& element : elements) {
      element *= factor;
    }
    return rounded(slopes->shape(), elements);
  }
  return std::nullopt;
}

std::optional<Rectifier> rectifier_of(const Graph& graph, const Node& sum) {
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const auto x = relu_operand(graph, sum.inputs[i]);
    if (!x || graph.type(*x) != graph.type(sum.outputs[0])) {
      continue;
    }
    if (auto slope = slope_of(graph, sum.inputs[1 - i], *x)) {
      return Rectifier{*x, *std::move(slope)};
    }
  }
  return std::nullopt;
}

bool is_rectifier(const Graph& graph, const Node& sum) {
  return rectifier_of(graph, sum).has_value();
}

std::variant<Patch, Refusal> combine_prelu(const Graph& graph, const Match& match) {
  const Node& sum = graph.node(match.root());
  Rectifier rectifier = *rectifier_of(graph, sum);
  Patch patch(graph);
  if (rectifier.slope.shape().empty()) {
    patch.replace_node(sum, "LeakyRelu", {rectifier.x},
                       {{"alpha", rectifier.slope.view<float>()[0]}});
  } else {
    const ValueId slope = patch.add_constant(sum.name + "_slope", std::move(rectifier.slope));
    patch.replace_node(sum, "PRelu", {rectifier.x, slope});
  }
  return patch;
}

}  // namespace
}  // namespace tare

TARE_RULE(prelu) {
  using namespace tare;
  return {.name = "prelu",
          .summary = "writes Relu(x) + slope * Min(x, 0) as PRelu, or LeakyRelu",
          .benefit = 80,
          .pattern =
              [] {
                return op_of({"Add"}).where(is_rectifier,
                                            "is Relu(x) + slope * Min(x, 0) in some spelling");
              },
          .rewrite = combine_prelu};
}
