#include "tare/error.h"
#include "tare/pattern.h"

#include <algorithm>
#include <map>
#include <set>

namespace tare {
namespace {

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
      std::get<Patch>(result).apply(graph_);
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

  Graph graph_;
  std::vector<RewriteEvent>* log_;
  std::vector<RewriteEvent> refusals_;
};

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
          throw Error(ErrorCode::kInternal, "",
                      "rewriting reached no fixed point in " + std::to_string(kRoundLimit) +
                          " rounds; rule '" + std::string(level.front().rule->name) +
                          "' or another of its benefit still fires");
        }
      }
    }
  }
  return rewriter.finish();
}

}  // namespace tare
