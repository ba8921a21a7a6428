#include "simulate/match_regions.h"

#include "simulate/affine_pattern.h"
#include "simulate/placement.h"
#include "simulate/weight_blocks.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace tare {
namespace {

class Matcher {
 public:
  Matcher(const Graph& graph, const Settings& settings,
          const std::map<std::string, double>& prices)
      : graph_(graph),
        settings_(settings),
        prices_(prices),
        order_(graph.topological_order()) {}

  std::vector<Region> all(std::span<const QuantPattern> patterns) {
    for (const QuantPattern* pattern : wanted(patterns)) {
      const Pattern shape = pattern->pattern();
      for (const NodeId id : order_) {
        try_at(*pattern, shape, id);
      }
    }
    sort_regions();
    return std::move(result_.regions);
  }

  MatchedRegions run(std::span<const QuantPattern> patterns) {
    result_.regions = all(patterns);
    if (settings_.objective() != Objective::kCoverage) {
      keep_what_pays();
    }
    add_weight_blocks();
    // A refused pattern may still have been accepted as part of another one.
    std::erase_if(result_.kept_float, [this](const KeptFloat& kept) {
      return claimed_.contains(*graph_.find_node(kept.node));
    });
    return std::move(result_);
  }

 private:
  /// Those that the target names, the more specific ones first; for coverage every operator of
  /// the affine allow-list besides.
  std::vector<const QuantPattern*> wanted(std::span<const QuantPattern> patterns) const {
    const auto& names = settings_.target().patterns;
    std::vector<const QuantPattern*> result;
    for (const QuantPattern& pattern : patterns) {
      if (std::find(names.begin(), names.end(), pattern.name) != names.end()) {
        result.push_back(&pattern);
      }
    }
    std::stable_sort(result.begin(), result.end(),
                     [](const QuantPattern* a, const QuantPattern* b) {
                       return std::tuple(a->follows_neighbours, -a->benefit, a->name) <
                              std::tuple(b->follows_neighbours, -b->benefit, b->name);
                     });
    if (settings_.objective() == Objective::kCoverage) {
      result.push_back(&affine_pattern());
    }
    return result;
  }

  void try_at(const QuantPattern& pattern, const Pattern& shape, NodeId id) {
    const auto match = shape.match(graph_, id);
    if (!match || std::any_of(match->nodes().begin(), match->nodes().end(),
                              [this](NodeId node) { return claimed_.contains(node); })) {
      return;
    }
    if (std::string reason = objection(*match); !reason.empty()) {
      result_.kept_float.push_back({graph_.node(id).name, std::move(reason)});
      return;
    }
    claimed_.insert(match->nodes().begin(), match->nodes().end());
    result_.regions.push_back({&pattern, *match, {}, {}});
  }

  /// Why the match stays float; empty when it does not.
  std::string objection(const Match& match) const {
    for (const NodeId id : match.nodes()) {
      if (std::string reason = settings_.float_reason(graph_.node(id)); !reason.empty()) {
        return reason;
      }
    }
    const Node& root = graph_.node(match.root());
    return graph_.type(root.outputs[0]).dtype == DType::kFloat32 ? ""
                                                                 : "its result is not float32";
  }

  /// Those that were asked for; what they cost does not count.
  void add_weight_blocks() {
    const Pattern shape = weight_blocks().pattern();
    for (const NodeId id : order_) {
      if (settings_.weight_block(graph_.node(id)) != 0) {
        claimed_.insert(id);
        result_.regions.push_back({&weight_blocks(), *shape.match(graph_, id), {}, {}});
      }
    }
    sort_regions();
  }

  void sort_regions() {
    std::map<NodeId, std::size_t> position;
    for (const NodeId id : order_) {
      position.emplace(id, position.size());
    }
    std::sort(result_.regions.begin(), result_.regions.end(),
              [&](const Region& a, const Region& b) {
                return position.at(a.match.root()) < position.at(b.match.root());
              });
  }

  void keep_what_pays() {
    std::vector<Region>& regions = result_.regions;
    const auto [placements, nanoseconds, quantized] =
        place(graph_, settings_, regions, prices_);
    result_.nanoseconds = nanoseconds;
    result_.quantized = quantized;
    std::vector<Region> kept;
    for (std::size_t i = 0; i < regions.size(); ++i) {
      if (placements[i].on_integers) {
        kept.push_back(std::move(regions[i]));
        continue;
      }
      const Match& match = regions[i].match;
      result_.kept_float.push_back(
          {graph_.node(match.root()).name, placements[i].reason, placements[i].detail});
      for (const NodeId id : match.nodes()) {
        claimed_.erase(id);
      }
    }
    regions = std::move(kept);
  }

  const Graph& graph_;
  const Settings& settings_;
  const std::map<std::string, double>& prices_;
  MatchedRegions result_;
  std::vector<NodeId> order_;
  std::set<NodeId> claimed_;
};

}  // namespace

std::vector<Region> all_regions(const Graph& graph, const Settings& settings,
                                std::span<const QuantPattern> patterns) {
  const std::map<std::string, double> no_prices;
  return Matcher(graph, settings, no_prices).all(patterns);
}

MatchedRegions match_regions(const Graph& graph, const Settings& settings,
                             std::span<const QuantPattern> patterns,
                             const std::map<std::string, double>& prices) {
  return Matcher(graph, settings, prices).run(patterns);
}

Assignment assign(const Graph& graph, const Config& config, const Target& target,
                  std::span<const QuantPattern> patterns,
                  const std::map<std::string, double>& prices) {
  const Settings settings(graph, config, target);
  const MatchedRegions matched = match_regions(graph, settings, patterns, prices);
  Assignment result;
  for (const Region& region : matched.regions) {
    if (has_weight_blocks(region)) {
      continue;
    }
    result.on_integers.insert(graph.node(region.match.root()).name);
  }
  result.nanoseconds = matched.nanoseconds;
  result.quantized = matched.quantized;
  return result;
}

}  // namespace tare
