// What regions cost on integers and in float, from the rows of the target.
#include "simulate/placement/region_costs.h"

#include "graph/operators/product.h"
#include "simulate/kernel_time.h"
#include "simulate/region_builder.h"

#include <algorithm>
#include <array>
#include <sstream>

namespace tare {
namespace {

double elements_of(const Shape& shape) {
  return static_cast<double>(element_count(shape));
}

/// Whether engines compute it together with the float product before it.
bool is_part_of_product(const Graph& graph, const Node& node) {
  constexpr std::array kActivations{"Relu",    "Clip", "LeakyRelu",
                                    "Sigmoid", "Tanh", "HardSigmoid"};
  if (std::find(kActivations.begin(), kActivations.end(), node.op) == kActivations.end()) {
    return false;
  }
  const auto producer = graph.producer(node.inputs[0]);
  return producer &&
         (graph.node(*producer).op == "Conv" || graph.node(*producer).op == "Gemm") &&
         graph.users(node.inputs[0]).size() == 1;
}

/// That was measured as a whole.
Cost of_layer(const TargetOperator& row) {
  return {.integers = row.integers.work, .floats = row.floats.work, .known = true};
}

}  // namespace

Cost RegionCosts::of(NodeId id) const {
  const Node& node = graph_.node(id);
  if (const TargetOperator* layer = measured_.find(graph_, std::array{id})) {
    return of_layer(*layer);
  }
  const TargetOperator* row = settings_.costs_of(node);
  if (row == nullptr) {
    return {};
  }
  return {
      .integers = kernel_time(graph_, node, row->integers),
      .floats = is_part_of_product(graph_, node) ? 0 : kernel_time(graph_, node, row->floats),
      .known = row->floats.work > 0 || row->integers.work > 0};
}

Cost RegionCosts::by_operators(const Region& region) const {
  if (const TargetOperator* layer = measured_.find(graph_, layer_nodes(graph_, region))) {
    return of_layer(*layer);
  }
  Cost sum;
  sum.known = true;
  for (const NodeId id : region.match.nodes()) {
    const Cost cost = of(id);
    sum.integers += cost.integers;
    sum.floats += cost.floats;
    sum.known &= cost.known || !is_product(graph_.node(id));
  }
  return sum;
}

Cost RegionCosts::of(const Region& region) const {
  Cost sum = by_operators(region);
  sum.known &= settings_.objective() == Objective::kLatency;
  if (!region.pattern->follows_neighbours) {
    sum.floats += counts_gain_ ? settings_.target().least_gain : 0;
    sum.floats += settings_.target().operators.empty() ? conversions_of(region) : 0;
  }
  return sum;
}

double RegionCosts::conversions_of(const Region& region) const {
  const Node& root = graph_.node(region.match.root());
  double converted = elements_of(graph_.type(root.outputs[0]).shape);
  for (const ValueId input : root.inputs) {
    if (input && graph_.constant(input) == nullptr) {
      converted += elements_of(graph_.type(input).shape);
    }
  }
  const ConversionCost& cost = settings_.target().conversion;
  return 2 * cost.call + converted * cost.element;
}

bool RegionCosts::computes_wide_in_float(const Region& region) const {
  const auto is_wide = [this](ValueId value) {
    return value && graph_.constant(value) == nullptr &&
           graph_.type(value).dtype == DType::kFloat32 &&
           size_of(settings_.activation(point_root(graph_, value)).spec.storage) == 2;
  };
  return std::any_of(region.match.nodes().begin(), region.match.nodes().end(), [&](NodeId id) {
    const Node& node = graph_.node(id);
    const TargetOperator* row = settings_.target_operator(node);
    return row != nullptr && !row->wide &&
           (is_wide(fused_result(graph_, region)) ||
            std::any_of(node.inputs.begin(), node.inputs.end(), is_wide));
  });
}

Placement RegionCosts::in_float(const Region& region) const {
  if (computes_wide_in_float(region)) {
    return {false, "the target computes on 16-bit values in float"};
  }
  if (region.pattern->follows_neighbours) {
    return {false, "its neighbours are float, so conversions would cost more than it saves"};
  }
  if (settings_.target().operators.empty()) {
    return {false, "float is faster"};  // by costs without a unit
  }
  const Cost cost = of(region);
  std::ostringstream text;
  text.precision(3);
  text << (cost.floats - settings_.target().least_gain) / 1e3 << " us against "
       << cost.integers / 1e3 << " us and conversions";
  return {false, "float is faster", text.str()};
}

}  // namespace tare
