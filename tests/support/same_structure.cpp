#include "support/same_structure.h"

#include <map>

namespace tare::test {
namespace {

class Comparison {
 public:
  Comparison(const Graph& a, const Graph& b) : a_(a), b_(b) {}

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
    if (left.op != right.op || left.attributes != right.attributes ||
        left.inputs.size() != right.inputs.size()) {
      differ(left.op + " and " + right.op, a, b);
      return;
    }
    for (std::size_t i = 0; i < left.inputs.size(); ++i) {
      if (static_cast<bool>(left.inputs[i]) != static_cast<bool>(right.inputs[i])) {
        differ("operands", a, b);
      } else if (left.inputs[i]) {
        compare(left.inputs[i], right.inputs[i]);
      }
    }
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
