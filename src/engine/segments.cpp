#include "engine/segments.h"

#include "graph/operators/product.h"
#include "simulate/placement/measured_layers.h"
#include "simulate/region_builder.h"

#include <algorithm>
#include <map>
#include <set>

namespace tare {
namespace {

class SegmentFinder {
 public:
  explicit SegmentFinder(const SimulatedGraph& simulated)
      : graph_(simulated.source), regions_(simulated.regions) {
    for (const NodeId id : graph_.topological_order()) {
      places_.emplace(id, places_.size());
    }
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      results_.emplace(fused_result(graph_, regions_[i]), i);
    }
  }

  std::vector<Segment> run() {
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      add({i});
    }
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      for (const NodeId id : layer_nodes(graph_, regions_[i])) {
        for (const ValueId input : graph_.node(id).inputs) {
          const auto before = input ? results_.find(input) : results_.end();
          // What others read as well has to be a result, which the network does not have.
          if (before != results_.end() && before->second != i && graph_.single_use(input)) {
            add({before->second, i});
          }
        }
      }
    }
    std::stable_sort(found_.begin(), found_.end(), [](const Segment& a, const Segment& b) {
      return std::pair(a.layers.size(), -a.work) < std::pair(b.layers.size(), -b.work);
    });
    return std::move(found_);
  }

 private:
  void add(const std::vector<std::size_t>& regions) {
    Segment segment;
    for (const std::size_t i : regions) {
      std::vector<NodeId> nodes = layer_nodes(graph_, regions_[i]);
      segment.layers.push_back(layer_shape(graph_, nodes));
      segment.nodes.insert(segment.nodes.end(), nodes.begin(), nodes.end());
    }
    std::sort(segment.nodes.begin(), segment.nodes.end(),
              [this](NodeId a, NodeId b) { return places_.at(a) < places_.at(b); });
    segment.shape = layer_shape(graph_, segment.nodes);
    const auto [known, is_new] = by_shape_.emplace(segment.shape, found_.size());
    if (!is_new) {
      ++found_[known->second].count;
      return;
    }
    std::set<ValueId> inside;
    for (const NodeId id : segment.nodes) {
      const Node& node = graph_.node(id);
      segment.work += multiplications(graph_, node);
      for (const ValueId input : node.inputs) {
        if (input && graph_.constant(input) == nullptr && !inside.contains(input) &&
            std::find(segment.operands.begin(), segment.operands.end(), input) ==
                segment.operands.end()) {
          segment.operands.push_back(input);
        }
      }
      inside.insert(node.outputs.begin(), node.outputs.end());
    }
    segment.result = fused_result(graph_, regions_[regions.back()]);
    found_.push_back(std::move(segment));
  }

  const Graph& graph_;
  const std::vector<Region>& regions_;
  std::map<NodeId, std::size_t> places_;
  std::map<ValueId, std::size_t> results_;
  std::map<std::string, std::size_t> by_shape_;
  std::vector<Segment> found_;
};

}  // namespace

std::vector<Segment> segments(const SimulatedGraph& simulated) {
  return SegmentFinder(simulated).run();
}

Graph segment_graph(const GraphCutter& cutter, const Graph& graph, const Segment& segment) {
  const std::vector<ValueId> results{segment.result};
  Subgraph part = cutter.cut(segment.operands, results);
  part.graph.set_outputs({part.values.at(segment.result)});
  part.graph.opset = graph.opset;
  part.graph.dimension_names.clear();
  return std::move(part.graph);
}

}  // namespace tare
