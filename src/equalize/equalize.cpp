#include "tare/equalize.h"

#include "tare/error.h"

#include "equalize/channel_classes.h"
#include "equalize/migration.h"
#include "equalize/replace_constant.h"
#include "graph/product.h"

#include <algorithm>

namespace tare {
namespace {

/// The operand's channel that each weight of a product multiplies.
class WeightOperands {
 public:
  /// None of the extents is 0.
  WeightOperands(const Node& node, const Shape& weights) {
    const auto extent = [&](std::size_t axis) {
      return static_cast<std::size_t>(weights[axis]);
    };
    const auto positions =
        static_cast<std::size_t>(element_count(weights)) / extent(0) / extent(1);
    const auto groups = static_cast<std::size_t>(node.attributes.integer("group", 1));
    if (node.op == "Conv") {
      inner_ = positions;
      cycle_ = extent(1);
      outer_ = extent(0) / groups * cycle_ * positions;  // weights of one group
      count_ = extent(0) % groups == 0 ? groups * cycle_ : 0;
    } else if (node.attributes.integer("transB", 0) != 0) {
      inner_ = 1;
      count_ = cycle_ = extent(1);
      outer_ = extent(0) * cycle_;
    } else {
      // ConvTranspose and matrices have the operand's channels first.
      inner_ = extent(1) * positions;
      count_ = cycle_ = extent(0);
      outer_ = cycle_ * inner_;
    }
  }

  /// Channels of the operand; 0 where the weights do not fall into groups.
  std::size_t count() const { return count_; }

  std::size_t of(std::size_t weight) const {
    return weight / outer_ * cycle_ + weight / inner_ % cycle_;
  }

 private:
  std::size_t count_ = 0;
  std::size_t inner_ = 1;
  std::size_t cycle_ = 1;
  std::size_t outer_ = 1;
};

bool all_one(const std::vector<float>& factors) {
  return std::all_of(factors.begin(), factors.end(), [](float f) { return f == 1; });
}

class Equalizer {
 public:
  Equalizer(Graph& graph, const ChannelFactors& factors)
      : graph_(graph), classes_(graph), factors_(classes_.count(), 1.0F) {
    for (const auto& [name, values] : factors) {
      const auto value = graph.find_value(name);
      const auto own = value ? classes_.of(*value) : std::vector<std::optional<std::size_t>>();
      for (std::size_t c = 0; c < std::min(own.size(), values.size()); ++c) {
        if (own[c]) {
          factors_[*own[c]] = values[c];
        }
      }
    }
  }

  void run() {
    for (const NodeId id : graph_.topological_order()) {
      if (classes_.takes_factors(graph_.node(id))) {
        scale(id);
      }
    }
  }

 private:
  std::vector<float> factors(ValueId value) const {
    std::vector<float> result;
    for (const auto& own : classes_.of(value)) {
      result.push_back(own ? factors_[*own] : 1.0F);
    }
    return result;
  }

  void scale(NodeId id) {
    const Node node = graph_.node(id);
    const std::vector<float> before = factors(node.inputs[0]);
    const std::vector<float> after = factors(node.outputs[0]);
    if (all_one(before) && all_one(after)) {
      return;
    }
    const Tensor& weights = *graph_.constant(node.inputs[1]);
    const WeightOperands operands(node, weights.shape());
    const WeightResults results(node, weights.shape());
    if (operands.count() != before.size() || results.count() != after.size()) {
      throw Error(ErrorCode::kInvalidModel, "node '" + node.name + "'",
                  "weight " + to_string(weights.shape()) + " is not for " +
                      std::to_string(before.size()) + " and " + std::to_string(after.size()) +
                      " channels");
    }
    Tensor scaled = weights;
    const auto values = scaled.mutable_view<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = values[i] * before[operands.of(i)] / after[results.of(i)];
    }
    replace_constant(graph_, id, 1, std::move(scaled));
    if (node.inputs.size() > 2 && node.inputs[2]) {
      Tensor bias = *graph_.constant(node.inputs[2]);
      const auto row = bias.mutable_view<float>();
      for (std::size_t c = 0; c < row.size(); ++c) {
        row[c] /= after[c];
      }
      replace_constant(graph_, id, 2, std::move(bias));
    }
  }

  Graph& graph_;
  ChannelClasses classes_;
  std::vector<float> factors_;  ///< by class
};

}  // namespace

std::size_t factor_count(const Graph& graph, ValueId value) {
  for (const MigrationSite& site : migration_sites(graph)) {
    if (site.value == value) {
      return site.channels(graph);
    }
  }
  const Shape& shape = graph.type(value).shape;
  return shape.size() < 2 ? 0 : static_cast<std::size_t>(shape[1]);
}

Graph equalize(Graph graph, const ChannelFactors& factors) {
  const std::vector<MigrationSite> sites = migration_sites(graph);
  Equalizer(graph, factors).run();
  for (const MigrationSite& site : sites) {
    const auto found = factors.find(graph.name(site.value));
    if (found != factors.end() && found->second.size() == site.channels(graph)) {
      migrate(graph, site, found->second);
    }
  }
  return graph;
}

}  // namespace tare
