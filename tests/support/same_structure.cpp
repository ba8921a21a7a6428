#include "support/same_structure.h"

#include "graph/operators/inner_graphs.h"

#include <map>

namespace tare::test {
namespace {

class Comparison {
 public:
  Comparison(const Graph& a, const Graph& b) : a_(a), b_(b) {}

  /// Of graphs inside of nodes: their inputs go by their places.
  void pair_inputs() {
    if (a_.inputs().size() != b_.inputs().size()) {
      difference_ = "number of inputs";
      return;
    }
    for (std::size_t i = 0; i < a_.inputs().size(); ++i) {
      pairs_.emplace(a_.inputs()[i], b_.inputs()[i]);
    }
  }

  std::string difference() {
    if (a_.outputs().size() != b_.outputs().size()) {
      return "number of outputs";
    }
    for (std::size_t i = 0; i < a_.outputs().size() && difference_.empty(); ++i) {
      compare(a_.outputs()[i], b_.outputs()[i]);
    }
    return difference_;
  }

 private:
  void differ(const std::string& what, ValueId a, ValueId b) {
    if (difference_.empty()) {
      difference_ = what + ": '" + a_.name(a) + "' and '" + b_.name(b) + "'";
    }
  }

  void compare(ValueId a, ValueId b) {
    if (!difference_.empty()) {
      return;
    }
    if (const auto [known, added] = pairs_.emplace(a, b); !added) {
      if (known->second != b) {
        differ("one value is two", a, b);
      }
      return;
    }
    const TensorType& left = a_.type(a);
    const TensorType& right = b_.type(b);
    if (left.dtype != right.dtype || left.shape != right.shape || left.quant != right.quant) {
      differ("types", a, b);
      return;
    }
    const Tensor* constant = a_.constant(a);
    if (constant != nullptr || b_.constant(b) != nullptr) {
      if (constant == nullptr || b_.constant(b) == nullptr || *constant != *b_.constant(b)) {
        differ("constants", a, b);
      }
      return;
    }
    const auto from = a_.producer(a);
    const auto other = b_.producer(b);
    if (!from || !other) {
      if (from || other || a_.name(a) != b_.name(b)) {
        differ("inputs", a, b);
      }
      return;
    }
    compare(a_.node(*from), b_.node(*other), a, b);
  }

  void compare(const Node& left, const Node& right, ValueId a, ValueId b) {
    if (left.op != right.op || plain(left) != plain(right) ||
        left.inputs.size() != right.inputs.size()) {
      differ(left.op + " and " + right.op, a, b);
      return;
    }
    for (const std::string& attribute : graph_attributes(left.op)) {
      const Graph in_left = inner_graph(left, attribute);
      const Graph in_right = inner_graph(right, attribute);
      Comparison inner(in_left, in_right);
      inner.pair_inputs();
      if (const std::string found = inner.difference(); !found.empty()) {
        differ(attribute + " with " + found, a, b);
      }
    }
    for (std::size_t i = 0; i < left.inputs.size(); ++i) {
      if (static_cast<bool>(left.inputs[i]) != static_cast<bool>(right.inputs[i])) {
        differ("operands", a, b);
      } else if (left.inputs[i]) {
        compare(left.inputs[i], right.inputs[i]);
      }
    }
  }

  /// Without the inner graphs, in which names differ.
  static Attributes plain(const Node& node) {
    Attributes attributes = node.attributes;
    for (const std::string& attribute : graph_attributes(node.op)) {
      attributes.erase(attribute);
      attributes.erase("captured");
    }
    return attributes;
  }

  const Graph& a_;
  const Graph& b_;
  std::map<ValueId, ValueId> pairs_;
  std::string difference_;
};

}  // namespace

std::string structural_difference(const Graph& a, const Graph& b) {
  return Comparison(a, b).difference();
}

}  // namespace tare::test
