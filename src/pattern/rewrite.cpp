// Applies rewrite rules until none fires: those of the highest benefit until nothing changes,
// then the next ones, and all again where something did. MLIR's greedy rewriter does the same
// from a list of work; here the graph is swept in topological order, so that a log of rewrites
// reads like the network. Rules have to make progress, and 10,000 sweeps without an end are
// taken for two that undo each other.
//
// Cost: a sweep for each round in which something changed, and one more. Rules say at which
// operators they can start, so most nodes cost a lookup.
#include "tare/error.h"
#include "tare/graph.h"
#include "tare/pattern.h"

#include <algorithm>
#include <map>
#include <set>

namespace tare {
namespace {

/// Longer than any real network needs; rules that undo each other would go on for ever.
constexpr int kRoundLimit = 10'000;

struct PreparedRule {
  const RewriteRule* rule = nullptr;
  Pattern pattern;
  std::vector<std::string> ops;  // sorted; empty: any

  bool may_start_at(const Node& node) const {
    return ops.empty() || std::binary_search(ops.begin(), ops.end(), node.op);
  }
};

/// Rules of one benefit, by name: they are tried together, node by node.
using Level = std::vector<PreparedRule>;

std::vector<Level> levels_of(std::span<const RewriteRule> rules) {
  std::map<int, Level, std::greater<>> by_benefit;
  for (const RewriteRule& rule : rules) {
    PreparedRule prepared{&rule, rule.pattern(), {}};
    prepared.ops = prepared.pattern.root_ops();
    std::sort(prepared.ops.begin(), prepared.ops.end());
    by_benefit[rule.benefit].push_back(std::move(prepared));
  }
  std::vector<Level> levels;
  for (auto& [benefit, level] : by_benefit) {
    std::sort(level.begin(), level.end(), [](const PreparedRule& a, const PreparedRule& b) {
      return a.rule->name < b.rule->name;
    });
    levels.push_back(std::move(level));
  }
  return levels;
}

/// Which nodes took over which. Only the steps are kept, so that a long row of them takes no
/// more than its length; the lists are made once, in the end.
class History {
 public:
  void take_over(NodeId taker, NodeId id, const Node& node) {
    taken_[taker].push_back(id);
    if (!origins_.contains(id)) {
      std::vector<Origin> origins{{node.name, node.op}};
      origins.insert(origins.end(), node.origins.begin(), node.origins.end());
      origins_.emplace(id, std::move(origins));
    }
  }

  void write_into(Graph& graph) const {
    for (const auto& [taker, taken] : taken_) {
      if (graph.alive(taker)) {
        graph.set_origins(taker, collected(graph.node(taker), taken));
      }
    }
  }

 private:
  std::vector<Origin> collected(const Node& node, const std::vector<NodeId>& taken) const {
    std::vector<Origin> result = node.origins;
    std::set<std::pair<std::string, std::string>> known{{node.name, node.op}};
    for (const Origin& origin : result) {
      known.emplace(origin.name, origin.op);
    }
    std::set<NodeId> visited;
    std::vector<NodeId> open(taken.rbegin(), taken.rend());
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      if (!visited.insert(id).second) {
        continue;
      }
      for (const Origin& origin : origins_.at(id)) {
        if (known.emplace(origin.name, origin.op).second) {
          result.push_back(origin);
        }
      }
      if (const auto before = taken_.find(id); before != taken_.end()) {
        open.insert(open.end(), before->second.rbegin(), before->second.rend());
      }
    }
    return result;
  }

  std::map<NodeId, std::vector<NodeId>> taken_;    ///< by node, directly
  std::map<NodeId, std::vector<Origin>> origins_;  ///< what these were before all this
};

class Rewriter {
 public:
  Rewriter(Graph graph, std::vector<RewriteEvent>* log) : graph_(std::move(graph)), log_(log) {}

  /// Goes once over the graph; whether anything changed.
  bool sweep(const Level& level) {
    bool changed = false;
    for (const NodeId id : graph_.topological_order()) {
      for (const PreparedRule& prepared : level) {
        if (graph_.alive(id) && prepared.may_start_at(graph_.node(id)) && fire(prepared, id)) {
          changed = true;
          break;
        }
      }
    }
    return changed;
  }

  /// Refusals of rounds that changed something may be out of date.
  void forget_refusals() { refusals_.clear(); }

  Graph finish() {
    graph_.erase_unused();
    history_.write_into(graph_);
    verify(graph_);
    if (log_ != nullptr) {
      log_->insert(log_->end(), refusals_.begin(), refusals_.end());
    }
    return std::move(graph_);
  }

 private:
  bool fire(const PreparedRule& prepared, NodeId id) {
    const std::string node = graph_.node(id).name;
    const std::string rule(prepared.rule->name);
    try {
      const std::optional<Match> match = prepared.pattern.match(graph_, id);
      if (!match) {
        return false;
      }
      const std::variant<Patch, Refusal> result = prepared.rule->rewrite(graph_, *match);
      std::string reason;
      if (const auto* refusal = std::get_if<Refusal>(&result)) {
        reason = refusal->reason;
      } else {
        reason = std::get<Patch>(result).broken_interface();
      }
      if (!reason.empty()) {
        refusals_.push_back({rule, node, std::move(reason)});
        return false;
      }
      change(std::get<Patch>(result), *match);
#ifndef NDEBUG
      verify(graph_);
#endif
    } catch (Error& error) {
      error.during("applying rule '" + rule + "' at node '" + node + "'");
      throw;
    }
    if (log_ != nullptr) {
      log_->push_back({rule, node, {}});
    }
    return true;
  }

  /// Applies the patch. The nodes that it adds stand for what it matched and made unused, or
  /// where it adds none those whose results are read instead; constants and inputs do not.
  void change(const Patch& patch, const Match& match) {
    std::vector<Patch::Erased> taken;
    for (const NodeId id : match.nodes()) {
      taken.emplace_back(id, graph_.node(id));
    }
    std::set<NodeId> takers;
    for (const ValueId value : patch.stand_ins(patch.apply(graph_, &taken))) {
      if (const auto producer = graph_.producer(value)) {
        takers.insert(*producer);
      }
    }
    for (const NodeId taker : takers) {
      for (const auto& [id, node] : taken) {
        history_.take_over(taker, id, node);
      }
    }
  }

  Graph graph_;
  History history_;
  std::vector<RewriteEvent>* log_;
  std::vector<RewriteEvent> refusals_;
};

[[noreturn]] void refuse_to_go_on(const Level& level) {
  const auto own = std::find_if(level.begin(), level.end(), [](const PreparedRule& prepared) {
    return !prepared.rule->plugin.empty();
  });
  const RewriteRule& rule = *(own == level.end() ? level.front() : *own).rule;
  throw Error(own == level.end() ? ErrorCode::kInternal : ErrorCode::kInvalidConfig,
              rule.plugin.empty() ? "" : "plug-in '" + rule.plugin + "'",
              "rewriting reached no fixed point in " + std::to_string(kRoundLimit) +
                  " rounds; rule '" + std::string(rule.name) +
                  "' or another of its benefit still fires");
}

}  // namespace

Graph rewrite(Graph graph, std::span<const RewriteRule> rules, std::vector<RewriteEvent>* log) {
  const std::vector<Level> levels = levels_of(rules);
  Rewriter rewriter(std::move(graph), log);
  int rounds = 0;
  for (bool changed = true; changed;) {
    changed = false;
    rewriter.forget_refusals();
    for (const Level& level : levels) {
      while (rewriter.sweep(level)) {
        changed = true;
        if (++rounds == kRoundLimit) {
          refuse_to_go_on(level);
        }
      }
    }
  }
  return rewriter.finish();
}

}  // namespace tare
