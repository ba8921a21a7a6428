// Elu(x) = max(x, a (e^min(x, 0) - 1)), for a of at most 1; otherwise the sum of both parts.
// Selu(x) = g Elu(x). Softplus(x) = max(x, 0) + log(1 + e^-|x|), which never overflows.
// Mish(x) = x tanh(log(1 + e)) = x n / (n + 2), n = e (e + 2), e = e^min(x, 20): a larger x
// leaves a factor of 1, and e^2 within the range of float32.
#include "lower/forms/quick_exponentials.h"

#include "lower/forms/add_operator.h"
#include "lower/forms/respell.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tare {
namespace {

/// Of fewer elements the calls of several operators take longer than what they save.
constexpr std::int64_t kFewest = 1000;
constexpr float kMishSaturates = 20;
/// Of a Selu that does not say others.
constexpr float kSeluAlpha = 1.67326319217681884765625F;
constexpr float kSeluGamma = 1.05070102214813232421875F;

/// Writes operators on values of one type.
class Speller {
 public:
  Speller(Graph& graph, NodeId id)
      : graph_(graph),
        type_(graph.type(graph.node(id).outputs[0])),
        name_(graph.name(graph.node(id).outputs[0])) {}

  ValueId operator()(const char* op, std::vector<ValueId> inputs) {
    return add_operator(graph_, op, std::move(inputs), type_, name_ + "_" + op);
  }
  ValueId operator()(const char* op, ValueId value, float constant) {
    return (*this)(op, {value, number(constant)});
  }

  ValueId elu(ValueId x, float alpha) {
    ValueId below = (*this)("Sub", (*this)("Exp", {(*this)("Min", x, 0)}), 1);
    if (alpha != 1) {
      below = (*this)("Mul", below, alpha);
    }
    return alpha > 0 && alpha <= 1 ? (*this)("Max", {x, below})
                                   : (*this)("Add", {(*this)("Max", x, 0), below});
  }

  ValueId softplus(ValueId x) {
    const ValueId small = (*this)("Exp", {(*this)("Neg", {(*this)("Abs", {x})})});
    return (*this)("Add", {(*this)("Max", x, 0), (*this)("Log", {(*this)("Add", small, 1)})});
  }

  ValueId mish(ValueId x) {
    const ValueId e = (*this)("Exp", {(*this)("Min", x, kMishSaturates)});
    const ValueId n = (*this)("Mul", {e, (*this)("Add", e, 2)});
    return (*this)("Mul", {x, (*this)("Div", {n, (*this)("Add", n, 2)})});
  }

 private:
  ValueId number(float value) {
    return graph_.add_constant(graph_.unique_name(name_ + "_number"),
                               Tensor::of<float>({}, {value}));
  }

  Graph& graph_;
  TensorType type_;
  std::string name_;
};

/// What Mul(x, Tanh(Softplus(x))) is of.
std::optional<ValueId> operand_of_mish(const Graph& graph, const Node& node) {
  for (std::size_t i = 0; node.op == "Mul" && i < 2; ++i) {
    const Node* tanh = lone_producer(graph, node.inputs[i], "Tanh");
    const Node* soft =
        tanh == nullptr ? nullptr : lone_producer(graph, tanh->inputs[0], "Softplus");
    if (soft != nullptr && soft->inputs[0] == node.inputs[1 - i]) {
      return soft->inputs[0];
    }
  }
  return std::nullopt;
}

/// Whether it is the Softplus of a Mish, which is spelled as a whole.
bool belongs_to_mish(const Graph& graph, const Node& softplus) {
  for (const NodeId tanh : graph.users(softplus.outputs[0])) {
    for (const NodeId product : graph.users(graph.node(tanh).outputs[0])) {
      if (operand_of_mish(graph, graph.node(product)) == softplus.inputs[0]) {
        return true;
      }
    }
  }
  return false;
}

std::optional<float> number(const Graph& graph, ValueId value) {
  const Tensor* constant = graph.constant(value);
  return constant != nullptr && constant->dtype() == DType::kFloat32 &&
                 constant->shape().empty()
             ? std::optional(constant->view<float>()[0])
             : std::nullopt;
}

/// The first operand, if the value is that operator with that number.
std::optional<ValueId> with_number(const Graph& graph, ValueId value, const char* op,
                                   float expected) {
  const Node* node = lone_producer(graph, value, op);
  return node != nullptr && node->inputs.size() == 2 &&
                 number(graph, node->inputs[1]) == expected
             ? std::optional(node->inputs[0])
             : std::nullopt;
}

struct Elu {
  ValueId x;
  float alpha = 1;
};

/// a (e^min(x, 0) - 1).
std::optional<Elu> below_zero(const Graph& graph, ValueId value) {
  Elu result;
  if (const Node* product = lone_producer(graph, value, "Mul")) {
    const auto alpha = number(graph, product->inputs[1]);
    if (!alpha) {
      return std::nullopt;
    }
    result.alpha = *alpha;
    value = product->inputs[0];
  }
  const auto power = with_number(graph, value, "Sub", 1);
  const Node* exp = power ? lone_producer(graph, *power, "Exp") : nullptr;
  const auto x = exp == nullptr ? std::nullopt : with_number(graph, exp->inputs[0], "Min", 0);
  if (!x) {
    return std::nullopt;
  }
  result.x = *x;
  return result;
}

std::optional<Elu> elu_of(const Graph& graph, const Node& node) {
  if ((node.op != "Max" && node.op != "Add") || node.inputs.size() != 2) {
    return std::nullopt;
  }
  const auto below = below_zero(graph, node.inputs[1]);
  const auto above = node.op == "Max" ? std::optional(node.inputs[0])
                                      : with_number(graph, node.inputs[0], "Max", 0);
  return below && above == below->x ? below : std::nullopt;
}

/// Of a multiple of an Elu that has been read.
std::optional<ValueId> operand_of_selu(const Graph& graph, const Node& node) {
  const Node* elu = node.op == "Mul" ? lone_producer(graph, node.inputs[0], "Elu") : nullptr;
  return elu != nullptr && elu->attributes.real("alpha", 1) == kSeluAlpha &&
                 number(graph, node.inputs[1]) == kSeluGamma
             ? std::optional(elu->inputs[0])
             : std::nullopt;
}

std::optional<ValueId> operand_of_softplus(const Graph& graph, const Node& node) {
  if (node.op != "Add") {
    return std::nullopt;
  }
  const auto x = with_number(graph, node.inputs[0], "Max", 0);
  const Node* log = lone_producer(graph, node.inputs[1], "Log");
  const auto power =
      log == nullptr ? std::nullopt : with_number(graph, log->inputs[0], "Add", 1);
  const Node* exp = power ? lone_producer(graph, *power, "Exp") : nullptr;
  const Node* negative = exp == nullptr ? nullptr : lone_producer(graph, exp->inputs[0], "Neg");
  const Node* size =
      negative == nullptr ? nullptr : lone_producer(graph, negative->inputs[0], "Abs");
  return size != nullptr && x == size->inputs[0] ? x : std::nullopt;
}

/// Of x n / (n + 2).
std::optional<ValueId> operand_of_spelled_mish(const Graph& graph, const Node& node) {
  const Node* share = node.op == "Mul" ? lone_producer(graph, node.inputs[1], "Div") : nullptr;
  if (share == nullptr || with_number(graph, share->inputs[1], "Add", 2) != share->inputs[0] ||
      producer_op(graph, share->inputs[0]) != "Mul") {
    return std::nullopt;
  }
  const Node& n = graph.node(*graph.producer(share->inputs[0]));
  if (with_number(graph, n.inputs[1], "Add", 2) != n.inputs[0] ||
      producer_op(graph, n.inputs[0]) != "Exp") {
    return std::nullopt;
  }
  const Node& exp = graph.node(*graph.producer(n.inputs[0]));
  return with_number(graph, exp.inputs[0], "Min", kMishSaturates) == node.inputs[0]
             ? std::optional(node.inputs[0])
             : std::nullopt;
}

}  // namespace

bool spell_exponential(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  const TensorType& type = graph.type(node.outputs[0]);
  if (type.dtype != DType::kFloat32 || element_count(type.shape) < kFewest) {
    return false;
  }
  Speller speller(graph, id);
  if (node.op == "Elu") {
    replace(graph, id, speller.elu(node.inputs[0], node.attributes.real("alpha", 1)));
  } else if (node.op == "Selu") {
    const ValueId elu = speller.elu(node.inputs[0], node.attributes.real("alpha", kSeluAlpha));
    replace(graph, id, speller("Mul", elu, node.attributes.real("gamma", kSeluGamma)));
  } else if (node.op == "Softplus" && !belongs_to_mish(graph, node)) {
    replace(graph, id, speller.softplus(node.inputs[0]));
  } else if (const auto x = operand_of_mish(graph, node)) {
    replace(graph, id, speller.mish(*x));
  } else {
    return false;
  }
  return true;
}

bool read_exponential(Graph& graph, NodeId id) {
  const Node node = graph.node(id);
  const TensorType type = graph.type(node.outputs[0]);
  const std::string name = graph.name(node.outputs[0]);
  if (const auto elu = elu_of(graph, node)) {
    replace(graph, id,
            add_operator(graph, "Elu", {elu->x}, type, name, {{"alpha", elu->alpha}}));
  } else if (const auto selu = operand_of_selu(graph, node)) {
    replace(graph, id, add_operator(graph, "Selu", {*selu}, type, name));
  } else if (const auto x = operand_of_softplus(graph, node)) {
    replace(graph, id, add_operator(graph, "Softplus", {*x}, type, name));
  } else if (const auto gated = operand_of_spelled_mish(graph, node)) {
    const ValueId soft = add_operator(graph, "Softplus", {*gated}, type, name + "_softplus");
    const ValueId gate = add_operator(graph, "Tanh", {soft}, type, name + "_tanh");
    replace(graph, id, add_operator(graph, "Mul", {*gated, gate}, type, name));
  } else {
    return false;
  }
  return true;
}

}  // namespace tare
