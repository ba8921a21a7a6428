// Matches a pattern by depth-first search with backtracking. What remains to be matched is a
// list of goals on the stack, so that an early choice is revised when a later part does not
// fit. Cost: the parts of the pattern for most nodes; choices and operands in any order
// multiply, but patterns have few. The part that matched furthest is remembered, to say why a
// pattern fails.
#include "tare/error.h"
#include "tare/graph.h"
#include "tare/pattern.h"

#include "base/check.h"
#include "pattern/pattern_impl.h"

#include <algorithm>

namespace tare {
namespace {

using Impl = Pattern::Impl;

std::string titled(const Node& node) {
  return node.op + " '" + node.name + "'";
}

/// A value that has to match a part of the pattern, and what remains to be matched after it.
struct Goal {
  const Impl* part = nullptr;
  ValueId value;
  const Node* reader = nullptr;  // null for the root
  std::size_t operand = 0;
  const Goal* next = nullptr;
};

/// Depth-first search with backtracking: a goal is solved together with everything after it, so
/// that a choice made early is revised when a later part does not fit. Goals live on the stack.
class Search {
 public:
  Search(const Graph& graph, std::string* why) : graph_(graph), why_(why) {}

  struct Binding {
    const std::string* name;
    ValueId value;
  };
  std::vector<Binding> bindings;
  std::vector<NodeId> nodes;

  bool solve(const Goal* goal) {
    if (goal == nullptr) {
      return true;
    }
    const Impl& part = *goal->part;
    if (!goal->value) {
      return (part.may_be_absent || fails(*goal, "is absent")) && solve(goal->next);
    }
    const State before = state();
    if (has_kind(*goal) && holds(*goal) && bind(*goal) && solve_parts(*goal)) {
      return true;
    }
    restore(before);
    return false;
  }

 private:
  struct State {
    std::size_t bindings;
    std::size_t nodes;
    std::size_t solved;
  };
  State state() const { return {bindings.size(), nodes.size(), solved_}; }
  void restore(const State& before) {
    bindings.resize(before.bindings);
    nodes.resize(before.nodes);
    solved_ = before.solved;
  }

  bool has_kind(const Goal& goal) {
    const Impl& part = *goal.part;
    if (part.kind == Impl::Kind::kConstant) {
      return graph_.constant(goal.value) != nullptr || fails(goal, "is not a constant");
    }
    if (part.kind != Impl::Kind::kNode) {
      return true;
    }
    const std::optional<NodeId> id = graph_.producer(goal.value);
    if (!id) {
      return fails(goal, "is not computed by a node");
    }
    const Node& node = graph_.node(*id);
    if (!part.ops.empty() &&
        std::find(part.ops.begin(), part.ops.end(), node.op) == part.ops.end()) {
      return fails(goal, "is computed by " + titled(node));
    }
    return node.outputs.front() == goal.value ||
           fails(goal, "is not the first result of " + titled(node));
  }

  /// What the value has to be whichever kind of part this is.
  bool holds(const Goal& goal) {
    const Impl& part = *goal.part;
    if (part.single_use && !graph_.single_use(goal.value)) {
      return fails(
          goal, graph_.is_output(goal.value)
                    ? "is a graph output"
                    : "is read " + std::to_string(graph_.users(goal.value).size()) + " times");
    }
    for (const auto& condition : part.value_conditions) {
      if (!condition.holds(graph_, goal.value)) {
        return fails(goal, "does not meet: " + condition.text);
      }
    }
    return true;
  }

  bool bind(const Goal& goal) {
    const std::string& name = goal.part->capture;
    if (!name.empty()) {
      for (const Binding& bound : bindings) {
        if (*bound.name == name && bound.value != goal.value) {
          return fails(goal, "is not '" + graph_.name(bound.value) + "', captured as " + name);
        }
      }
      bindings.push_back({&name, goal.value});
    }
    ++solved_;
    return true;
  }

  bool solve_parts(const Goal& goal) {
    switch (goal.part->kind) {
      case Impl::Kind::kAny:
      case Impl::Kind::kConstant:
        return solve(goal.next);
      case Impl::Kind::kNode:
        return solve_node(goal);
      case Impl::Kind::kChoice:
        return std::any_of(goal.part->choices.begin(), goal.part->choices.end(),
                           [&](const Pattern& choice) {
                             Goal chosen = goal;
                             chosen.part = &Impl::of(choice);
                             return solve(&chosen);
                           });
    }
    return false;
  }

  bool solve_node(const Goal& goal) {
    const Impl& part = *goal.part;
    const NodeId id = *graph_.producer(goal.value);
    const Node& node = graph_.node(id);
    for (const auto& wanted : part.attributes) {
      const auto found = node.attributes.items().find(wanted.name);
      if (found == node.attributes.items().end() ? !wanted.is_default
                                                 : found->second != wanted.value) {
        return says(titled(node) + " has another '" + wanted.name + "'");
      }
    }
    for (const auto& condition : part.node_conditions) {
      if (!condition.holds(graph_, node)) {
        return says(titled(node) + " does not meet: " + condition.text);
      }
    }
    if (!part.is_context) {
      nodes.push_back(id);
    }
    return part.operands ? solve_operands(goal, node) : solve(goal.next);
  }

  bool solve_operands(const Goal& goal, const Node& node) {
    const std::vector<Pattern>& parts = *goal.part->operands;
    for (std::size_t i = parts.size(); i < node.inputs.size(); ++i) {
      if (node.inputs[i] && !goal.part->more_operands) {
        return says("operand " + std::to_string(i) + " of " + titled(node) + " is present");
      }
    }
    std::vector<Goal> goals(parts.size());
    const auto solve_in = [&](auto&& operand_of) {
      for (std::size_t i = parts.size(); i-- > 0;) {
        const std::size_t operand = operand_of(i);
        goals[i] = {.part = &Impl::of(parts[i]),
                    .value = operand < node.inputs.size() ? node.inputs[operand] : ValueId{},
                    .reader = &node,
                    .operand = operand,
                    .next = i + 1 < parts.size() ? &goals[i + 1] : goal.next};
      }
      return goals.empty() ? solve(goal.next) : solve(goals.data());
    };
    return solve_in([](std::size_t i) { return i; }) ||
           (goal.part->any_order && solve_in([](std::size_t i) { return 1 - i; }));
  }

  bool fails(const Goal& goal, const std::string& what) {
    if (goal.reader != nullptr) {
      return says("operand " + std::to_string(goal.operand) + " of " + titled(*goal.reader) +
                  " " + what);
    }
    return says("'" + graph_.name(goal.value) + "' " + what);
  }

  bool says(std::string sentence) {
    if (why_ != nullptr && (why_->empty() || solved_ > told_)) {
      *why_ = std::move(sentence);
      told_ = solved_;
    }
    return false;
  }

  const Graph& graph_;
  std::string* why_;
  std::size_t solved_ = 0;  // parts matched on the way to where the search is
  std::size_t told_ = 0;    // the same, where *why_ was written
};

}  // namespace

std::optional<Match> Pattern::match(const Graph& graph, NodeId id, std::string* why) const {
  if (why != nullptr) {
    why->clear();
  }
  Search search(graph, why);
  const Goal root{.part = impl_.get(), .value = graph.node(id).outputs.front()};
  if (!search.solve(&root)) {
    return std::nullopt;
  }
  if (why != nullptr) {
    why->clear();
  }
  Match match;
  match.nodes_.push_back(id);
  for (const NodeId node : search.nodes) {
    if (std::find(match.nodes_.begin(), match.nodes_.end(), node) == match.nodes_.end()) {
      match.nodes_.push_back(node);
    }
  }
  for (const auto& bound : search.bindings) {
    if (!match.has(*bound.name)) {
      match.captures_.push_back({*bound.name, bound.value, graph.producer(bound.value)});
    }
  }
  return match;
}

const Match::Capture& Match::capture(std::string_view name) const {
  const auto found = std::find_if(captures_.begin(), captures_.end(),
                                  [&](const Capture& c) { return c.name == name; });
  if (found == captures_.end()) {
    throw Error(ErrorCode::kInternal, "",
                "nothing was captured as '" + std::string(name) + "'");
  }
  return *found;
}

ValueId Match::value(std::string_view name) const {
  return capture(name).value;
}

NodeId Match::node(std::string_view name) const {
  const Capture& found = capture(name);
  check(found.node.has_value(), "a captured value has no node");
  return *found.node;
}

bool Match::has(std::string_view name) const {
  return std::any_of(captures_.begin(), captures_.end(),
                     [&](const Capture& c) { return c.name == name; });
}

ValueId Match::value_if(std::string_view name) const {
  return has(name) ? value(name) : ValueId{};
}

}  // namespace tare
