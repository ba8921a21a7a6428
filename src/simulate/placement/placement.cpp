// Places regions on integers or floats as a minimum cut; placement.h says how.
#include "simulate/placement/placement.h"

#include "graph/operators/affine_ops.h"
#include "graph/operators/product.h"
#include "simulate/placement/region_costs.h"
#include "simulate/region_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace tare {
namespace {

double elements(const Shape& shape) {
  return static_cast<double>(element_count(shape));
}

std::int64_t picoseconds(double nanoseconds) {
  constexpr double kLongest = 1e15;  // 1000 s; thousands of these stay below MinCut::kNever
  return std::llround(std::clamp(nanoseconds * 1e3, 0.0, kLongest));
}

}  // namespace

/// Writes down what costs how much where.
class PlacementStatement {
 public:
  PlacementStatement(const Graph& graph, const Settings& settings,
                     std::span<const Region> regions, PlacementProblem& problem,
                     bool counts_gain = true)
      : graph_(graph),
        settings_(settings),
        regions_(regions),
        costs_(graph, settings, counts_gain),
        outputs_(graph.outputs().begin(), graph.outputs().end()),
        problem_(problem),
        cut_(problem.cut_) {}

  void write() {
    for (const Region& region : regions_) {
      place_region(region);
    }
    place_others();
    for (const NodeId id : graph_.topological_order()) {
      follow_sum(id);
    }
    follow_readers();
    finish();
  }

  /// Where no region runs on integers, nothing does.
  void write_fixed(const std::vector<bool>& on_integers) {
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      const std::size_t side = add_region(regions_[i]);
      add_cost(side, costs_.of(regions_[i]));
      fix(side, on_integers[i]);
    }
    place_others();
    if (std::find(on_integers.begin(), on_integers.end(), true) == on_integers.end()) {
      for (const auto& [id, side] : side_) {
        fix(side, false);
      }
    }
    follow_readers();
    finish();
  }

 private:
  void fix(std::size_t side, bool on_integers) {
    tie(on_integers ? cut_.source() : side, on_integers ? side : cut_.sink());
  }

  /// What may be either without being part of a region.
  void place_others() {
    for (const NodeId id : graph_.topological_order()) {
      const AffineOp* row = find_affine_op(graph_, graph_.node(id));
      if (!side_.contains(id) && row != nullptr &&
          settings_.runs_on_integers(graph_.node(id)) &&
          !settings_.keeps_float(graph_.node(id))) {
        side_[id] = cut_.add_node();
        stores_.insert(id);
        add_cost(side_[id], costs_.of(id));
        others_.push_back(id);
      }
    }
  }

  /// No region quantizes what these compute, so they are on integers only where a reader is.
  /// Where several readers may differ nothing is said.
  void follow_readers() {
    for (const NodeId id : others_) {
      std::set<std::size_t> readers;
      for (const ValueId value : graph_.node(id).outputs) {
        if (value && graph_.type(value).dtype == DType::kFloat32) {
          const std::set<std::size_t> sides = readers_of(value);
          readers.insert(sides.begin(), sides.end());
        }
      }
      if (readers.size() == 1) {
        tie(side_[id], *readers.begin());
      }
    }
  }

  /// The engine makes one operator of it and what adds to its result, so it is on integers
  /// where the sum is.
  void follow_sum(NodeId id) {
    constexpr std::size_t kMatrix = 2;
    const Node& node = graph_.node(id);
    if (!settings_.target().rounds_float_weights || node.op != "MatMul" ||
        !side_.contains(id) || settings_.demands_integers(node) ||
        graph_.type(node.outputs[0]).shape.size() != kMatrix ||
        graph_.type(node.inputs[1]).shape.size() != kMatrix) {
      return;
    }
    const std::vector<NodeId> users = graph_.users(node.outputs[0]);
    if (users.size() == 1 && graph_.node(users[0]).op == "Add" &&
        graph_.type(graph_.node(users[0]).outputs[0]).shape ==
            graph_.type(node.outputs[0]).shape &&
        side_of(users[0]) != side_[id]) {
      tie(side_[id], side_of(users[0]));
    }
  }

  void finish() {
    for (const ValueId value : graph_.values()) {
      convert(value);
    }
    // Regions that share nodes have the side that these got last.
    for (const Region& region : regions_) {
      problem_.sides_.push_back(side_.at(region.match.root()));
    }
    for (const NodeId id : graph_.topological_order()) {
      problem_.in_float_ += side_.contains(id) ? 0 : costs_.of(id).floats;
    }
    problem_.times_of_.resize(cut_.nodes());
    for (std::size_t i = 0; i < problem_.times_.size(); ++i) {
      problem_.times_of_[problem_.times_[i].from].push_back(i);
      problem_.times_of_[problem_.times_[i].to].push_back(i);
    }
    problem_.tied_to_.resize(cut_.nodes());
    for (const auto& [from, to] : ties_) {
      problem_.tied_to_[to].push_back(from);
    }
  }

  /// Its nodes get one side.
  std::size_t add_region(const Region& region) {
    const std::size_t side = cut_.add_node();
    for (const NodeId id : region.match.nodes()) {
      side_[id] = side;
    }
    NodeId last = region.match.root();
    for (const NodeId id : fused_activations(graph_, region)) {
      side_[id] = side;
      last = id;
    }
    if (settings_.needs_quantized_result(region)) {
      stores_.insert(last);
    }
    return side;
  }

  void place_region(const Region& region) {
    const std::size_t side = add_region(region);
    const Cost cost = costs_.of(region);
    const bool is_demanded = settings_.demands_integers(region);
    if (is_demanded) {
      tie(cut_.source(), side);
    }
    if (costs_.computes_wide_in_float(region)) {
      if (is_demanded) {
        return;
      }
      // Layers that were asked for in 16 bits get them; what would follow them gains nothing.
      const bool follows = region.pattern->follows_neighbours;
      tie(follows ? side : cut_.source(), follows ? cut_.sink() : side);
    } else if (region.pattern->follows_neighbours || cost.known) {
      add_cost(side, cost);
      for (const NodeId id : region.match.nodes()) {
        for (const ValueId input : graph_.node(id).inputs) {
          if (input && graph_.constant(input) != nullptr) {
            add_price(side, cut_.sink(), input);
          }
        }
      }
    } else {
      tie(cut_.source(), side);
    }
  }

  /// `to` is on integers wherever `from` is.
  void tie(std::size_t from, std::size_t to) {
    cut_.add_arc(from, to, MinCut::kNever);
    ties_.emplace_back(from, to);
  }

  void add_price(std::size_t from, std::size_t to, ValueId value) {
    const auto [found, is_new] =
        problem_.price_of_.emplace(graph_.name(value), PriceId{problem_.priced_.size()});
    if (is_new) {
      problem_.priced_.emplace_back();
    }
    problem_.priced_[found->second.index].push_back({from, to, cut_.add_arc(from, to, 0)});
  }

  void add_cost(std::size_t side, const Cost& cost) {
    add_time(cut_.source(), side, picoseconds(cost.floats));
    add_time(side, cut_.sink(), picoseconds(cost.integers));
  }

  void add_time(std::size_t from, std::size_t to, std::int64_t time) {
    cut_.add_arc(from, to, time);
    problem_.times_.push_back({from, to, time});
  }

  std::size_t side_of(std::optional<NodeId> id) const {
    const auto found = id ? side_.find(*id) : side_.end();
    return found == side_.end() ? cut_.sink() : found->second;
  }

  /// Without costs the fewest converted elements are best.
  std::int64_t conversion_cost(const Shape& shape, bool to_float) const {
    const ConversionCost& cost = settings_.target().conversion;
    const bool known = cost.call > 0 || cost.element > 0;
    const double element = to_float && cost.dequantized > 0 ? cost.dequantized : cost.element;
    return picoseconds(known ? cost.call + elements(shape) * element : 1 + elements(shape));
  }

  std::int64_t layout_cost(const Shape& shape) const {
    constexpr std::size_t kImageRank = 4;
    return shape.size() == kImageRank
               ? picoseconds(elements(shape) * settings_.target().conversion.layout)
               : 0;
  }

  /// What it costs when a value is computed on one side and read on the other: the conversion
  /// once for all readers, a change of layout for each.
  void convert(ValueId value) {
    const TensorType& type = graph_.type(value);
    if (type.dtype != DType::kFloat32 || graph_.constant(value) != nullptr) {
      return;
    }
    const std::size_t from = side_of(graph_.producer(value));
    if (stores(value)) {
      add_price(from, cut_.sink(), value);
    }
    std::set<std::size_t> readers = readers_of(value);
    readers.erase(from);
    if (readers.empty()) {
      return;
    }
    const std::int64_t layout = layout_cost(type.shape);
    const std::size_t quantized = cut_.add_node();
    add_time(quantized, from, conversion_cost(type.shape, false));
    // What is stored has its price above, whoever reads it.
    add_price(quantized, stores(value) ? from : cut_.sink(), value);
    for (const std::size_t reader : readers) {
      if (reader != cut_.sink()) {
        tie(reader, quantized);
        add_time(reader, from, layout);
      }
    }
    if (stores(value)) {
      const std::size_t dequantized = cut_.add_node();
      add_time(from, dequantized, conversion_cost(type.shape, true));
      for (const std::size_t reader : readers) {
        tie(dequantized, reader);
        add_time(from, reader, layout);
      }
    }
  }

  /// The sides that it is read on, a result of the network in float.
  std::set<std::size_t> readers_of(ValueId value) const {
    std::set<std::size_t> readers;
    for (const NodeId user : graph_.users(value)) {
      readers.insert(side_of(user));
    }
    if (outputs_.contains(value)) {
      readers.insert(cut_.sink());
    }
    return readers;
  }

  /// Whether it is computed as storage values where that runs on integers.
  bool stores(ValueId value) const {
    const auto producer = graph_.producer(value);
    return side_of(producer) != cut_.sink() && stores_.contains(*producer);
  }

  const Graph& graph_;
  const Settings& settings_;
  std::span<const Region> regions_;
  RegionCosts costs_;
  std::set<ValueId> outputs_;
  PlacementProblem& problem_;
  MinCut& cut_;
  std::vector<std::pair<std::size_t, std::size_t>> ties_;
  std::map<NodeId, std::size_t> side_;  ///< other nodes are float
  std::vector<NodeId> others_;          ///< that may be on integers, of no region
  std::set<NodeId> stores_;             ///< on integers these give storage values
};

PlacementProblem::PlacementProblem(const Graph& graph, const Settings& settings,
                                   std::span<const Region> regions) {
  PlacementStatement(graph, settings, regions, *this).write();
}

PlacementProblem::PlacementProblem(const Graph& graph, const Settings& settings,
                                   std::span<const Region> regions,
                                   const std::vector<bool>& on_integers) {
  PlacementStatement(graph, settings, regions, *this, false).write_fixed(on_integers);
}

void PlacementProblem::raise(PriceId id, double nanoseconds, MinCut::Flow& flow) const {
  for (const PricedArc& priced : priced_[id.index]) {
    flow.raise(priced.arc, picoseconds(nanoseconds));
  }
}

bool PlacementProblem::quantizes(PriceId id, const std::vector<bool>& solution) const {
  const std::vector<PricedArc>& arcs = priced_[id.index];
  return std::any_of(arcs.begin(), arcs.end(), [&](const PricedArc& priced) {
    return solution[priced.from] && !solution[priced.to];
  });
}

double PlacementProblem::nanoseconds(const std::vector<bool>& solution) const {
  double result = in_float_;
  for (const Time& time : times_) {
    result += time.is_paid(solution) ? static_cast<double>(time.picoseconds) / 1e3 : 0;
  }
  return result;
}

double PlacementProblem::nanoseconds_without(std::span<const std::string> names,
                                             const std::vector<bool>& solution) const {
  std::vector<bool> changed = solution;
  std::vector<std::size_t> moved;
  const auto move = [&](std::size_t node) {
    if (changed[node]) {
      changed[node] = false;
      moved.push_back(node);
    }
  };
  for (const std::string& name : names) {
    const auto id = find(name);
    for (const PricedArc& priced : id ? priced_[id->index] : std::vector<PricedArc>{}) {
      if (!solution[priced.to]) {
        move(priced.from);
      }
    }
  }
  std::set<std::size_t> times;
  for (std::size_t i = 0; i < moved.size(); ++i) {
    if (moved[i] == cut_.source()) {
      return std::numeric_limits<double>::infinity();
    }
    for (const std::size_t tied : tied_to_[moved[i]]) {
      move(tied);
    }
    times.insert(times_of_[moved[i]].begin(), times_of_[moved[i]].end());
  }
  std::int64_t longer = 0;
  for (const std::size_t i : times) {
    longer += times_[i].is_paid(changed) ? times_[i].picoseconds : 0;
    longer -= times_[i].is_paid(solution) ? times_[i].picoseconds : 0;
  }
  return nanoseconds(solution) + static_cast<double>(longer) / 1e3;
}

double predicted_nanoseconds(const Graph& graph, const Settings& settings,
                             std::span<const Region> regions,
                             const std::vector<bool>& on_integers) {
  const PlacementProblem problem(graph, settings, regions, on_integers);
  return problem.nanoseconds(problem.cut().solve());
}

std::vector<Placement> place(const Graph& graph, const Settings& settings,
                             std::span<const Region> regions) {
  const PlacementProblem problem(graph, settings, regions);
  const std::vector<bool> solution = problem.cut().solve();
  const RegionCosts costs(graph, settings);
  std::vector<Placement> result(regions.size());
  for (std::size_t i = 0; i < regions.size(); ++i) {
    if (!problem.on_integers(i, solution)) {
      result[i] = costs.in_float(regions[i]);
    }
  }
  return result;
}

}  // namespace tare
