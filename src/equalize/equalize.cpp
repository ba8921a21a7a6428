// Applies factors to a float graph (Nagel et al., "Data-Free Quantization Through Weight
// Equalization and Bias Correction", 2019, section 4.1): results of a layer are divided by
// taking the factors out of its weights and bias, and the next layers multiply by them in
// theirs. That is exact for what lies between as far as scaling passes through it, f(s x) = s
// f(x) for s > 0, which ChannelClasses makes sure of. Cost: one pass over the constants.

#include "equalize/equalize.h"

#include "tare/error.h"
#include "tare/quant_table.h"

#include "base/parallel.h"
#include "equalize/channel_classes.h"
#include "equalize/smoothquant_sites.h"
#include "graph/ir/replace_constant.h"
#include "graph/operators/product.h"

#include <algorithm>
#include <functional>

namespace tare {
namespace {

bool all_one(const std::vector<float>& factors) {
  return std::all_of(factors.begin(), factors.end(), [](float f) { return f == 1; });
}

/// The factor of every channel that has one.
class FactorsOfValues {
 public:
  FactorsOfValues(const Graph& graph, const ChannelFactors& factors)
      : classes_(graph), factors_(classes_.count(), 1.0F) {
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

  const ChannelClasses& classes() const { return classes_; }

  std::vector<float> of(ValueId value) const {
    std::vector<float> result;
    for (const auto& own : classes_.of(value)) {
      result.push_back(own ? factors_[*own] : 1.0F);
    }
    return result;
  }

 private:
  ChannelClasses classes_;
  std::vector<float> factors_;  ///< by class
};

/// A layer whose results are divided by `after`, and which makes up for operands divided by
/// `before`.
struct ScaledLayer {
  NodeId node;
  std::vector<float> before;
  std::vector<float> after;
  Tensor weights{};
};

Tensor scaled_weights(const Graph& graph, const ScaledLayer& layer) {
  const Node& node = graph.node(layer.node);
  const std::vector<float>& before = layer.before;
  const std::vector<float>& after = layer.after;
  const Tensor& weights = *graph.constant(node.inputs[1]);
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
  ChannelWalk operand = operands.walk();
  ChannelWalk result = results.walk();
  for (float& value : values) {
    value = value * before[operand.channel()] / after[result.channel()];
    operand.next();
    result.next();
  }
  return scaled;
}

void replace_constants(Graph& graph, ScaledLayer layer) {
  const Node node = graph.node(layer.node);
  replace_constant(graph, node.inputs[1], std::move(layer.weights));
  if (node.inputs.size() > 2 && node.inputs[2]) {
    Tensor bias = *graph.constant(node.inputs[2]);
    const auto row = bias.mutable_view<float>();
    for (std::size_t c = 0; c < row.size(); ++c) {
      row[c] /= layer.after[c];
    }
    replace_constant(graph, node.inputs[2], std::move(bias));
  }
}

/// Channels of matrices, whose last axis is axis 1, may have factors of both kinds.
void multiply(std::span<const float> factors, Tensor& row) {
  const auto values = row.mutable_view<float>();
  std::transform(values.begin(), values.end(), factors.begin(), values.begin(),
                 std::multiplies<>());
}

/// The sites that have factors, with these.
template <class Take>
void for_each_divided(const Graph& graph, const std::vector<SmoothQuantSite>& sites,
                      const ChannelFactors& factors, const Take& take) {
  for (const SmoothQuantSite& site : sites) {
    const auto found = factors.find(graph.name(site.value));
    if (found != factors.end() && found->second.size() == site.channels(graph)) {
      take(site, found->second);
    }
  }
}

}  // namespace

std::size_t factor_count(const Graph& graph, ValueId value) {
  for (const SmoothQuantSite& site : smoothquant_sites(graph)) {
    if (site.value == value) {
      return site.channels(graph);
    }
  }
  const Shape& shape = graph.type(value).shape;
  return shape.size() < 2 ? 0 : static_cast<std::size_t>(shape[1]);
}

Graph equalize(Graph graph, const ChannelFactors& factors, int threads) {
  if (factors.empty()) {
    return graph;
  }
  const std::vector<SmoothQuantSite> sites = smoothquant_sites(graph);
  const FactorsOfValues of_values(graph, factors);
  std::vector<ScaledLayer> layers;
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    if (of_values.classes().takes_factors(node)) {
      ScaledLayer layer{id, of_values.of(node.inputs[0]), of_values.of(node.outputs[0])};
      if (!all_one(layer.before) || !all_one(layer.after)) {
        layers.push_back(std::move(layer));
      }
    }
  }
  parallel_for(layers.size(), thread_count(threads), [&](std::size_t, std::size_t i) {
    layers[i].weights = scaled_weights(graph, layers[i]);
  });
  for (ScaledLayer& layer : layers) {
    replace_constants(graph, std::move(layer));
  }
  for_each_divided(graph, sites, factors, [&](const SmoothQuantSite& site, const auto& own) {
    apply_smoothquant(graph, site, own);
  });
  return graph;
}

std::map<std::string, Tensor> divisors(const Graph& graph, const ChannelFactors& factors) {
  std::map<std::string, Tensor> result;
  if (factors.empty()) {
    return result;
  }
  const FactorsOfValues of_values(graph, factors);
  for (const ValueId value : graph.values()) {
    const std::vector<float> own = of_values.of(value);
    if (!all_one(own)) {
      Shape shape(graph.type(value).shape.size(), 1);
      shape[1] = static_cast<std::int64_t>(own.size());
      result.emplace(graph.name(value), Tensor::of<float>(shape, own));
    }
  }
  for_each_divided(graph, smoothquant_sites(graph), factors,
                   [&](const SmoothQuantSite& site, const auto& own) {
                     const Tensor row =
                         Tensor::of<float>({static_cast<std::int64_t>(own.size())}, own);
                     for (const ValueId value : site.values()) {
                       const auto [at, is_first] = result.emplace(graph.name(value), row);
                       if (!is_first) {
                         multiply(own, at->second);
                       }
                     }
                   });
  return result;
}

}  // namespace tare
