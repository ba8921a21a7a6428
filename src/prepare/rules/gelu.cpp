// x * (1 + Erf(x / sqrt(2))) / 2 -> Gelu(x)
// x * (1 + Tanh(sqrt(2/pi) * (x + 0.044715 * x^3))) / 2 -> Gelu(x) {approximate="tanh"}
//
// The factors come in every order, and the tanh form with x factored out as well.
#include "tare/graph.h"
#include "tare/pattern.h"

#include "prepare/constants.h"
#include "prepare/product.h"

#include <cmath>
#include <numbers>

namespace tare {
namespace {

constexpr double kCubic = 0.044715;

/// Whether the value is coefficient * x^power.
bool is_monomial(const Graph& graph, ValueId value, double coefficient, ValueId x,
                 std::size_t power) {
  const Product product = product_of(graph, value);
  return is_near(graph, value, product.coefficient, coefficient) &&
         product.factors == std::vector<ValueId>(power, x);
}

/// Whether the value is x + 0.044715 * x^3.
bool is_polynomial(const Graph& graph, ValueId value, ValueId x) {
  const Node* add = computed_by(graph, value, "Add");
  return add != nullptr &&
         ((add->inputs[0] == x && is_monomial(graph, add->inputs[1], kCubic, x, 3)) ||
          (add->inputs[1] == x && is_monomial(graph, add->inputs[0], kCubic, x, 3)));
}

bool is_tanh_argument(const Graph& graph, ValueId value, ValueId x) {
  const Product product = product_of(graph, value);
  if (!is_near(graph, value, product.coefficient, std::sqrt(2 / std::numbers::pi))) {
    return false;
  }
  if (product.factors.size() == 1) {
    return is_polynomial(graph, product.factors[0], x);
  }
  const auto rest = product.partner_of(x);
  const auto offset = rest ? offset_of(graph, *rest) : std::nullopt;
  return offset && offset->constant == 1 && is_monomial(graph, offset->value, kCubic, x, 2);
}

struct Gelu {
  ValueId x;
  bool tanh = false;
};

std::optional<Gelu> gelu_of(const Graph& graph, const Node& node) {
  const Product product = product_of(graph, node.outputs[0]);
  if (product.coefficient != 0.5) {
    return std::nullopt;
  }
  for (const ValueId x : product.factors) {
    const auto gate = product.partner_of(x);
    const auto offset = gate ? offset_of(graph, *gate) : std::nullopt;
    if (!offset || offset->constant != 1 || graph.type(x) != graph.type(node.outputs[0])) {
      continue;
    }
    const Node* erf = computed_by(graph, offset->value, "Erf");
    if (erf != nullptr && is_monomial(graph, erf->inputs[0], std::numbers::sqrt2 / 2, x, 1)) {
      return Gelu{x, false};
    }
    const Node* tanh = computed_by(graph, offset->value, "Tanh");
    if (tanh != nullptr && is_tanh_argument(graph, tanh->inputs[0], x)) {
      return Gelu{x, true};
    }
  }
  return std::nullopt;
}

bool is_gelu(const Graph& graph, const Node& node) {
  return gelu_of(graph, node).has_value();
}

std::variant<Patch, Refusal> combine_gelu(const Graph& graph, const Match& match) {
  const Node& node = graph.node(match.root());
  const Gelu gelu = *gelu_of(graph, node);
  Attributes attributes;
  if (gelu.tanh) {
    attributes.set("approximate", std::string("tanh"));
  }
  Patch patch(graph);
  patch.replace_node(node, "Gelu", {gelu.x}, attributes);
  return patch;
}

}  // namespace
}  // namespace tare

TARE_RULE(gelu) {
  using namespace tare;
  return {.name = "gelu",
          .summary = "writes the Erf and Tanh forms of Gelu as one node",
          .benefit = 80,
          .pattern =
              [] {
                return op_of({"Div", "Mul"})
                    .where(is_gelu, "is x * (1 + Erf or Tanh of x) / 2 in some order");
              },
          .rewrite = combine_gelu};
}
