#include "tare/lint.h"
#include "tare/lower.h"

#include "graph/per_axis.h"
#include "graph/product.h"
#include "simulate/accumulated.h"
#include "simulate/region_builder.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace tare {
namespace {

/// Some parameters for every point: where operators run does not depend on which. Neighbouring
/// points have different ones, so that no conversion disappears that data would keep.
QuantTable any_table(const SimulatedGraph& simulated) {
  constexpr int kScales = 13;
  QuantTable table;
  std::map<std::string, std::size_t> order;
  for (std::size_t i = 0; i < simulated.unified.size(); ++i) {
    for (const std::string& name : simulated.unified[i]) {
      order.emplace(name, i);
    }
  }
  for (const QuantPoint& point : simulated.points) {
    if (point.role == Role::kAccumulator) {
      continue;
    }
    const std::size_t index = order.emplace(point.name, order.size()).first->second;
    const bool per_axis = point.spec.granularity == Granularity::kPerAxis;
    const auto axis = per_axis ? std::optional(point.spec.axis) : std::nullopt;
    const auto count = static_cast<std::size_t>(element_count(
        parameter_shape(simulated.source.type(point.value).shape, axis, point.spec.block)));
    const double scale = std::ldexp(1.0, -static_cast<int>(index % kScales));
    const StorageRange range =
        storage_range(point.spec.storage, point.spec.narrow_range, point.spec.bits);
    const std::int64_t zero =
        point.spec.symmetric ? (range.low + range.high + 1) / 2 : range.low;
    PointResult& result = table[point.name];
    result.params = {.storage = point.spec.storage,
                     .scale = std::vector<float>(count, static_cast<float>(scale)),
                     .zero_point = std::vector<std::int32_t>(count, static_cast<int>(zero)),
                     .axis = axis,
                     .block = point.spec.block,
                     .narrow_range = point.spec.narrow_range,
                     .bits = point.spec.bits};
  }
  for (const QuantPoint& point : simulated.points) {
    if (point.role == Role::kAccumulator) {
      table[point.name].params =
          accumulated_params(table.at(point.input).params, table.at(point.weight).params);
    }
  }
  return table;
}

bool computes_on_reals(const Graph& graph, const Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId value) {
    return value && graph.constant(value) == nullptr &&
           graph.type(value).dtype == DType::kFloat32;
  });
}

}  // namespace

std::string layer_name(std::string_view node) {
  constexpr std::string_view kSuffixes[] = {"_accumulated", "_expressed", "_storage"};
  const auto suffix = [&] {
    return std::find_if(std::begin(kSuffixes), std::end(kSuffixes),
                        [&](std::string_view each) { return node.ends_with(each); });
  };
  for (const auto* found = suffix(); found != std::end(kSuffixes); found = suffix()) {
    node.remove_suffix(found->size());
  }
  return std::string(node);
}

std::vector<Verdict> verdicts(const SimulatedGraph& simulated) {
  const Target& target = simulated.target;
  std::map<std::string, Verdict> of_layers;
  const Graph integer = lower(simulated, any_table(simulated));
  for (Verdict& verdict : verdicts(export_form(integer, Form::kQdq, target), target)) {
    of_layers.emplace(layer_name(verdict.node), std::move(verdict));
  }
  const Graph& graph = simulated.source;
  std::map<std::string, std::string> joined;  // node and what it is part of
  for (const Region& region : simulated.regions) {
    for (const NodeId id : region.match.nodes()) {
      joined.emplace(graph.node(id).name, region.pattern->name);
    }
    for (const NodeId id : fused_activations(graph, region)) {
      joined.emplace(graph.node(id).name, region.pattern->name);
    }
  }
  std::map<std::string, std::string> kept;
  for (const KeptFloat& each : simulated.kept_float) {
    kept.emplace(each.node, each.reason);
  }
  std::vector<Verdict> result;
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    if (!computes_on_reals(graph, node)) {
      continue;
    }
    Verdict verdict{.node = node.name, .op = node.op, .runs_as = {}, .because = {}};
    if (const auto reason = kept.find(node.name); reason != kept.end()) {
      verdict.because = reason->second;
    } else if (const auto found = of_layers.find(node.name); found != of_layers.end()) {
      verdict.runs_as = found->second.runs_as;
      verdict.because = found->second.because;
    } else {
      verdict.runs_as = "part of its neighbour";
    }
    if (const auto whole = joined.find(node.name);
        whole != joined.end() && !is_product(node) && !verdict.because.empty()) {
      verdict.runs_as = "part of " + whole->second;
      verdict.because.clear();
    }
    result.push_back(std::move(verdict));
  }
  return result;
}

}  // namespace tare
