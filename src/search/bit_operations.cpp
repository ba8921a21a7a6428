#include "search/bit_operations.h"

#include "graph/operators/product.h"
#include "simulate/weight_blocks.h"

#include <algorithm>

namespace tare {
namespace {

constexpr double kReal = 32;
constexpr double kDynamic = 8;

double bits_of_point(const SimulatedGraph& simulated, const std::string& name) {
  return bits_of(simulated.find(name)->spec);
}

/// Of both factors of its product; those of reals where it has none.
double factors_of(const SimulatedGraph& simulated, const Region& region) {
  for (const std::string& name : region.points) {
    const QuantPoint& point = *simulated.find(name);
    if (point.role == Role::kAccumulator) {
      return bits_of_point(simulated, point.input) * bits_of_point(simulated, point.weight);
    }
    if (has_weight_blocks(region) && point.role == Role::kWeight) {
      return kReal * bits_of(point.spec);
    }
  }
  return kReal * kReal;
}

double factors_of(const SimulatedGraph& simulated, const DynamicProduct& product) {
  double most = 0;
  for (const std::string& weight : product.weights) {
    most = std::max(most, bits_of_point(simulated, weight));
  }
  return kDynamic * most;
}

}  // namespace

int bits_of(const QuantSpec& spec) {
  constexpr int kOfByte = 8;
  return spec.bits != 0 ? spec.bits : kOfByte * static_cast<int>(size_of(spec.storage));
}

BitOperations bit_operations(const SimulatedGraph& simulated) {
  std::map<NodeId, double> factors;
  for (const Region& region : simulated.regions) {
    for (const NodeId id : region.match.nodes()) {
      factors.emplace(id, factors_of(simulated, region));
    }
  }
  for (const DynamicProduct& product : simulated.dynamic) {
    factors.emplace(product.node, factors_of(simulated, product));
  }
  BitOperations result;
  const Graph& graph = simulated.source;
  for (const NodeId id : graph.nodes()) {
    const double products = multiplications(graph, graph.node(id));
    if (products > 0) {
      const auto found = factors.find(id);
      result.emplace(id, products * (found == factors.end() ? kReal * kReal : found->second));
    }
  }
  return result;
}

double integer_share(const SimulatedGraph& simulated) {
  const Graph& graph = simulated.source;
  double on_integers = 0;
  for (const Region& region : simulated.regions) {
    for (const NodeId id : region.match.nodes()) {
      on_integers += has_weight_blocks(region) ? 0 : multiplications(graph, graph.node(id));
    }
  }
  for (const DynamicProduct& product : simulated.dynamic) {
    on_integers += multiplications(graph, graph.node(product.node));
  }
  const double all = multiplications(graph);
  return all == 0 ? 0 : on_integers / all;
}

double total(const BitOperations& operations) {
  double all = 0;
  for (const auto& [node, own] : operations) {
    all += own;
  }
  return all;
}

}  // namespace tare
