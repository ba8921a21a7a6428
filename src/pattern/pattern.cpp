#include "tare/pattern.h"

#include "tare/graph.h"

#include "base/check.h"
#include "pattern/pattern_impl.h"

#include <algorithm>
#include <cmath>

namespace tare {
namespace {

using Kind = Pattern::Impl::Kind;

template <class Change>
Pattern changed(const Pattern& pattern, Change&& change) {
  auto copy = std::make_shared<Pattern::Impl>(Pattern::Impl::of(pattern));
  change(*copy);
  return Pattern(std::move(copy));
}

template <class Change>
Pattern changed_node(const Pattern& pattern, Change&& change) {
  check(Pattern::Impl::of(pattern).kind == Kind::kNode, "only an op() has operands");
  return changed(pattern, change);
}

Pattern of_kind(Kind kind) {
  auto impl = std::make_shared<Pattern::Impl>();
  impl->kind = kind;
  return Pattern(std::move(impl));
}

}  // namespace

Pattern Pattern::with_operands(std::vector<Pattern> operands, bool any_order) const {
  return changed_node(*this, [&](Impl& impl) {
    impl.operands = std::move(operands);
    impl.any_order = any_order;
  });
}

Pattern Pattern::with_any_order(Pattern a, Pattern b) const {
  return with_operands({std::move(a), std::move(b)}, true);
}

Pattern Pattern::with_more() const {
  return changed_node(*this, [](Impl& impl) { impl.more_operands = true; });
}

Pattern Pattern::context() const {
  return changed_node(*this, [](Impl& impl) { impl.is_context = true; });
}

Pattern Pattern::single_use() const {
  return changed(*this, [](Impl& impl) { impl.single_use = true; });
}

Pattern Pattern::where(NodePredicate holds, std::string_view condition) const {
  return changed_node(*this, [&](Impl& impl) {
    impl.node_conditions.push_back({std::move(holds), std::string(condition)});
  });
}

Pattern Pattern::where_value(ValuePredicate holds, std::string_view condition) const {
  return changed(*this, [&](Impl& impl) {
    impl.value_conditions.push_back({std::move(holds), std::string(condition)});
  });
}

Pattern Pattern::attribute(std::string name, Attribute value, bool is_default) const {
  return changed_node(*this, [&](Impl& impl) {
    impl.attributes.push_back({std::move(name), std::move(value), is_default});
  });
}

Pattern Pattern::as(std::string_view capture) const {
  return changed(*this, [&](Impl& impl) { impl.capture = capture; });
}

Pattern operator|(Pattern a, Pattern b) {
  return changed(of_kind(Kind::kChoice), [&](Pattern::Impl& impl) {
    impl.choices = {std::move(a), std::move(b)};
  });
}

std::vector<std::string> Pattern::root_ops() const {
  if (impl_->kind != Kind::kChoice) {
    return impl_->ops;
  }
  std::vector<std::string> all;
  for (const Pattern& choice : impl_->choices) {
    const std::vector<std::string> ops = choice.root_ops();
    if (ops.empty()) {
      return {};
    }
    all.insert(all.end(), ops.begin(), ops.end());
  }
  return all;
}

Pattern op(std::string name) {
  return op_of({std::move(name)});
}

Pattern op_of(std::vector<std::string> names) {
  check(!names.empty(), "op_of() without an operator");
  return changed(any_op(), [&](Pattern::Impl& impl) { impl.ops = std::move(names); });
}

Pattern any_op() {
  return of_kind(Kind::kNode);
}

Pattern any() {
  return of_kind(Kind::kAny);
}

Pattern constant() {
  return of_kind(Kind::kConstant);
}

Pattern scalar(double value, double tolerance) {
  const auto equals = [value, tolerance](const Graph& graph, ValueId id) {
    const std::vector<double> elements = graph.constant(id)->to_double();
    return !elements.empty() && std::all_of(elements.begin(), elements.end(), [&](double x) {
      return x == value || std::abs(x - value) <= tolerance;
    });
  };
  return constant().where_value(equals, "all elements are " + std::to_string(value));
}

Pattern optional(const Pattern& pattern) {
  return changed(pattern, [](Pattern::Impl& impl) { impl.may_be_absent = true; });
}

}  // namespace tare
