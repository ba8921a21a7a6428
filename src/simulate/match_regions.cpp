// Greedy matching: patterns in the order of their benefit, those that merely follow neighbours
// last, each at all nodes in topological order; a node belongs to the first region that takes
// it. Larger patterns go first, so that the parts of a convolution with bias are not taken one
// by one. What stays in float for its time is decided afterwards, for all regions together
// (placement.h). Cost: patterns times nodes, each match looking at a few nodes.
#include "simulate/match_regions.h"

#include "graph/operators/detection_head.h"
#include "graph/operators/product.h"
#include "simulate/affine_pattern.h"
#include "simulate/lookup_pattern.h"
#include "simulate/placement/placement.h"
#include "simulate/region_builder.h"
#include "simulate/weight_blocks.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace tare {
namespace {

class Matcher {
 public:
  Matcher(const Graph& graph, const Settings& settings)
      : graph_(graph), settings_(settings), order_(graph.topological_order()) {}

  std::vector<Region> candidates(std::span<const QuantPattern> patterns) {
    match(patterns);
    return std::move(result_.regions);
  }

  MatchedRegions run(std::span<const QuantPattern> patterns) {
    match(patterns);
    if (settings_.objective() != Objective::kCoverage) {
      keep_what_pays();
    }
    add_weight_blocks();
    if (settings_.objective() != Objective::kCoverage) {
      explain_detection_head();
    }
    // A refused pattern may still have been accepted as part of another one.
    std::erase_if(result_.kept_float, [this](const KeptFloat& kept) {
      return claimed_.contains(*graph_.find_node(kept.node));
    });
    return std::move(result_);
  }

 private:
  void match(std::span<const QuantPattern> patterns) {
    for (const QuantPattern* pattern : wanted(patterns)) {
      const Pattern shape = pattern->pattern();
      for (const NodeId id : order_) {
        try_at(*pattern, shape, id);
      }
    }
    sort_regions();
  }

  /// Those that the target names, the more specific ones first; for coverage every operator of
  /// the affine allow-list besides, for size what is looked up in tables.
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
    if (settings_.objective() == Objective::kSize) {
      result.push_back(&lookup_pattern());
    }
    return result;
  }

  void try_at(const QuantPattern& pattern, const Pattern& shape, NodeId id) {
    if (&pattern == &lookup_pattern() && !settings_.runs_on_integers(graph_.node(id))) {
      return;
    }
    const auto match = shape.match(graph_, id);
    if (!match || std::any_of(match->nodes().begin(), match->nodes().end(),
                              [this](NodeId node) { return claimed_.contains(node); })) {
      return;
    }
    Region region{&pattern, *match, {}, {}};
    if (joins_bias(*match)) {
      return;  // others match its parts
    }
    if (std::string reason = objection(region); !reason.empty()) {
      result_.kept_float.push_back({graph_.node(id).name, std::move(reason)});
      return;
    }
    claimed_.insert(match->nodes().begin(), match->nodes().end());
    result_.regions.push_back(std::move(region));
  }

  /// Whether a constant would be added to a sum that takes none.
  bool joins_bias(const Match& match) const {
    const std::vector<NodeId>& nodes = match.nodes();
    const auto is_constant = [&](ValueId value) {
      return value && graph_.constant(value) != nullptr;
    };
    return std::any_of(nodes.begin(), nodes.end(),
                       [&](NodeId id) {
                         const Node& add = graph_.node(id);
                         return add.op == "Add" &&
                                std::any_of(add.inputs.begin(), add.inputs.end(), is_constant);
                       }) &&
           std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
             return is_product(graph_.node(id)) && settings_.adds_bias_after(graph_.node(id));
           });
  }

  /// Why the region stays float; empty when it does not.
  std::string objection(const Region& region) const {
    for (const NodeId id : region.match.nodes()) {
      if (std::string reason = settings_.float_reason(graph_.node(id)); !reason.empty()) {
        return reason;
      }
    }
    for (const NodeId id : fused_activations(graph_, region)) {
      const Node& node = graph_.node(id);
      if (settings_.rule(node).keep_float.value_or(false)) {
        return "the configuration keeps '" + node.name + "' in float, which is part of it";
      }
    }
    const Node& root = graph_.node(region.match.root());
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

  /// Which no pattern may cover, so that nothing was refused.
  void explain_detection_head() {
    for (const NodeId id : detection_head(graph_)) {
      const Node& node = graph_.node(id);
      std::string reason = settings_.float_reason(node);
      if (!reason.empty() && !claimed_.contains(id)) {
        result_.kept_float.push_back({node.name, std::move(reason)});
      }
    }
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
    const std::vector<Placement> placements = place(graph_, settings_, regions);
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
  MatchedRegions result_;
  std::vector<NodeId> order_;
  std::set<NodeId> claimed_;
};

}  // namespace

MatchedRegions match_regions(const Graph& graph, const Settings& settings,
                             std::span<const QuantPattern> patterns) {
  return Matcher(graph, settings).run(patterns);
}

std::vector<Region> match_candidates(const Graph& graph, const Settings& settings,
                                     std::span<const QuantPattern> patterns) {
  return Matcher(graph, settings).candidates(patterns);
}

}  // namespace tare
