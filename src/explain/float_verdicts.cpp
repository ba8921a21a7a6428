// Verdicts for operators of the float network, by way of the file that would be written: where
// operators run does not depend on parameters, so any will do, and no samples are needed.
#include "tare/graph.h"
#include "tare/integer_graph.h"
#include "tare/simulate.h"

#include "graph/arithmetic/per_axis.h"
#include "graph/operators/shape_facts.h"
#include "lower/lower.h"
#include "simulate/accumulated.h"
#include "simulate/dynamic_product.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

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

/// Reasons of those who decided, by node. A file only shows what reads real values.
std::map<std::string, KeptFloat> decided_reasons(const SimulatedGraph& simulated,
                                                 const QuantTable& table) {
  const Graph& graph = simulated.source;
  std::map<std::string, KeptFloat> reasons;
  for (const KeptFloat& kept : simulated.kept_float) {
    reasons.emplace(kept.node, kept);
  }
  const auto disable = [&](NodeId node, const std::string& point) {
    const auto entry = table.find(point);
    if (entry != table.end() && !entry->second.enabled) {
      const std::string& name = graph.node(node).name;
      reasons.emplace(name,
                      KeptFloat{name, "the table disables its points", "'" + point + "'"});
    }
  };
  for (const Region& region : simulated.regions) {
    for (const std::string& point : region.points) {
      disable(region.match.root(), point);
    }
  }
  for (const DynamicProduct& product : simulated.dynamic) {
    for (const std::string& weight : product.weights) {
      disable(product.node, weight);
    }
  }
  return reasons;
}

/// Products whose operand gets its parameters while the network runs, which files spell with
/// operators of other names.
std::set<std::string> dynamic_products(const SimulatedGraph& simulated,
                                       const QuantTable& table) {
  std::set<std::string> names;
  for (const DynamicProduct& product : simulated.dynamic) {
    if (is_enabled(product, table)) {
      names.insert(simulated.source.node(product.node).name);
    }
  }
  return names;
}

bool is_real(const Graph& graph, ValueId value) {
  return value && graph.constant(value) == nullptr &&
         graph.type(value).dtype == DType::kFloat32;
}

/// As of the operators of a file.
bool counts(const Graph& graph, const Node& node) {
  const auto is_real_here = [&](ValueId value) { return is_real(graph, value); };
  return node.op != "Cast" && !reads_shape_only(node) &&
         (std::any_of(node.inputs.begin(), node.inputs.end(), is_real_here) ||
          std::any_of(node.outputs.begin(), node.outputs.end(), is_real_here));
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
  const QuantTable table = any_table(simulated);
  Graph integer = lower(simulated, table);
  integer.file_types.clear();  // Casts change no kernel
  return verdicts(simulated, table, export_form(integer, Form::kQdq, simulated.target));
}

std::vector<Verdict> verdicts(const SimulatedGraph& simulated, const QuantTable& table,
                              const Graph& qdq) {
  std::unordered_map<std::string, Verdict> of_file;
  for (Verdict& verdict : verdicts(qdq, simulated.target)) {
    of_file.emplace(verdict.node, std::move(verdict));
  }
  const auto reasons = decided_reasons(simulated, table);
  const auto dynamic = dynamic_products(simulated, table);
  const Graph& graph = simulated.source;
  std::vector<Verdict> result;
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    if (!counts(graph, node)) {
      continue;
    }
    const auto found = of_file.find(layer_name(node.name));
    Verdict& verdict = result.emplace_back();
    if (dynamic.contains(node.name)) {
      verdict.runs_as = dynamic_kernel(node);
    } else if (found == of_file.end()) {
      verdict.runs_as = "fused into its neighbour";
      verdict.is_part = true;
    } else {
      verdict = found->second;
    }
    verdict.node = node.name;
    verdict.op = node.op;
    if (const auto why = reasons.find(node.name); why != reasons.end() && verdict.in_float()) {
      verdict.because = why->second.reason;
      verdict.detail = why->second.detail;
    }
  }
  return result;
}

OperatorCount count_operators(std::span<const Verdict> verdicts) {
  OperatorCount count;
  for (const Verdict& verdict : verdicts) {
    count.all += verdict.is_part ? 0U : 1U;
    count.on_integers += verdict.is_part || verdict.in_float() ? 0U : 1U;
  }
  return count;
}

std::vector<FloatGroup> float_groups(std::span<const Verdict> verdicts) {
  std::vector<FloatGroup> groups;
  std::map<std::string, std::size_t> known;
  for (const Verdict& verdict : verdicts) {
    if (!verdict.in_float()) {
      continue;
    }
    const auto [entry, is_new] = known.emplace(verdict.because, groups.size());
    if (is_new) {
      groups.push_back({verdict.because, {}});
    }
    groups[entry->second].operators.push_back(&verdict);
  }
  std::stable_sort(groups.begin(), groups.end(), [](const FloatGroup& a, const FloatGroup& b) {
    return a.operators.size() > b.operators.size();
  });
  return groups;
}

}  // namespace tare
