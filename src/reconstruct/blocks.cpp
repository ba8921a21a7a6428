// Finds where a network can be cut into parts that are reconstructed one after another. In
// topological order some values are alive between two nodes: computed before and read behind.
// Where it is a single one, the network is narrow, and what follows knows nothing else of what
// came before; residual blocks are between such places (Li et al., "BRECQ", 2021, section 3.2).
#include "reconstruct/blocks.h"

#include <algorithm>
#include <map>
#include <set>

namespace tare {
namespace {

/// A place in front of a layer.
struct Cut {
  std::size_t node = 0;  ///< index in topological order
  bool is_narrow = false;
};

class Planner {
 public:
  Planner(const Graph& graph, const std::function<bool(NodeId)>& is_layer,
          const std::function<bool(ValueId)>& is_data)
      : graph_(graph), order_(graph.topological_order()), is_layer_(is_layer) {
    for (const ValueId input : graph.inputs()) {
      if (is_data(input)) {
        carries_.insert(input);
      }
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const Node& node = graph.node(order_[i]);
      bool of_data = false;
      for (const ValueId input : node.inputs) {
        if (input && carries_.contains(input)) {
          of_data = true;
          last_use_[input] = i;
        }
      }
      if (of_data) {
        carries_.insert(node.outputs.begin(), node.outputs.end());
      }
    }
    for (const ValueId output : graph.outputs()) {
      if (carries_.contains(output)) {
        last_use_[output] = order_.size();
      }
    }
  }

  std::vector<Block> plan(Grain grain, std::size_t most_layers) {
    std::vector<std::size_t> ends =
        grain == Grain::kLayer ? places(cuts()) : block_ends(cuts(), most_layers);
    ends.push_back(order_.size());
    std::vector<Block> blocks;
    std::set<ValueId> alive;
    for (const ValueId input : graph_.inputs()) {
      if (last_use_.contains(input)) {
        alive.insert(input);
      }
    }
    std::size_t first = 0;
    for (const std::size_t end : ends) {
      blocks.push_back(between(first, end, alive));
      first = end;
    }
    return blocks;
  }

 private:
  /// In front of each layer but the first one.
  std::vector<Cut> cuts() const {
    std::vector<Cut> result;
    std::map<std::size_t, std::size_t> dying;  // values by their last use
    std::size_t alive = 0;
    const auto be_born = [&](ValueId value) {
      if (const auto last = last_use_.find(value); last != last_use_.end()) {
        ++alive;
        ++dying[last->second];
      }
    };
    for (const ValueId input : graph_.inputs()) {
      be_born(input);
    }
    bool is_first = true;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if (is_layer_(order_[i])) {
        if (!is_first) {
          result.push_back({i, alive == 1});
        }
        is_first = false;
      }
      for (const ValueId output : graph_.node(order_[i]).outputs) {
        be_born(output);
      }
      if (const auto dead = dying.find(i); dead != dying.end()) {
        alive -= dead->second;
      }
    }
    return result;
  }

  static std::vector<std::size_t> places(const std::vector<Cut>& cuts) {
    std::vector<std::size_t> result;
    for (const Cut& cut : cuts) {
      result.push_back(cut.node);
    }
    return result;
  }

  static std::vector<std::size_t> block_ends(const std::vector<Cut>& cuts,
                                             std::size_t most_layers) {
    constexpr std::size_t kFewLayers = 2;
    std::vector<std::size_t> result;
    std::vector<std::size_t> inside;  // cuts since the last end that are not narrow
    std::size_t layers = 0;           // since then
    const auto end_block = [&] {
      if (layers > most_layers) {
        result.insert(result.end(), inside.begin(), inside.end());
      }
      inside.clear();
      layers = 0;
    };
    for (const Cut& cut : cuts) {
      ++layers;
      if (cut.is_narrow && layers >= kFewLayers) {
        end_block();
        result.push_back(cut.node);
      } else {
        inside.push_back(cut.node);
      }
    }
    ++layers;
    end_block();
    return result;
  }

  Block between(std::size_t first, std::size_t end, std::set<ValueId>& alive) const {
    Block block;
    block.sources.assign(alive.begin(), alive.end());
    for (std::size_t i = first; i < end; ++i) {
      block.nodes.push_back(order_[i]);
      block.layers += is_layer_(order_[i]) ? 1 : 0;
      const auto& outputs = graph_.node(order_[i]).outputs;
      alive.insert(outputs.begin(), outputs.end());
    }
    std::erase_if(alive, [&](ValueId value) {
      const auto last = last_use_.find(value);
      return last == last_use_.end() || last->second < end;
    });
    block.results.assign(alive.begin(), alive.end());
    return block;
  }

  const Graph& graph_;
  std::vector<NodeId> order_;
  const std::function<bool(NodeId)>& is_layer_;
  std::set<ValueId> carries_;                ///< depends on data
  std::map<ValueId, std::size_t> last_use_;  ///< by index in the order
};

}  // namespace

std::vector<Block> plan_blocks(const Graph& graph, Grain grain, std::size_t most_layers,
                               const std::function<bool(NodeId)>& is_layer,
                               const std::function<bool(ValueId)>& is_data) {
  return Planner(graph, is_layer, is_data).plan(grain, most_layers);
}

}  // namespace tare
