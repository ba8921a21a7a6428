#include "simulate/placement.h"

#include "base/min_cut.h"
#include "graph/affine_ops.h"
#include "graph/product.h"
#include "simulate/region_builder.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

namespace tare {
namespace {

double elements(const Shape& shape) {
  return static_cast<double>(element_count(shape));
}

/// Positions of the window of a convolution's kernel [M, C/groups, ...].
double window(const Shape& kernel) {
  return elements(Shape(kernel.begin() + 2, kernel.end()));
}

/// Multiplications of a sum of products, elements of other results.
double work(const Graph& graph, const Node& node) {
  return is_product(node) ? multiplications(graph, node)
                          : elements(graph.type(node.outputs[0]).shape);
}

/// Positions of the window that are read for all results of a convolution, of one channel.
double window_reads(const Graph& graph, const Node& node) {
  if (node.op != "Conv") {
    return 0;
  }
  const double read = window(graph.type(node.inputs[1]).shape);
  const Shape& result = graph.type(node.outputs[0]).shape;
  return read == 1 ? 0 : read * elements(result) / static_cast<double>(result[1]);
}

/// Nanoseconds on either side.
struct Cost {
  double integers = 0;
  double floats = 0;
  bool known = false;
};

class Placer {
 public:
  Placer(const Graph& graph, const Settings& settings, std::span<const Region> regions,
         const std::map<std::string, double>& prices)
      : graph_(graph), settings_(settings), regions_(regions), prices_(prices) {}

  /// Nanoseconds where these regions run on integers and the others do not, whatever is best.
  /// Where none do, nothing does.
  double time_of(const std::vector<bool>& on_integers) {
    counts_gain_ = false;
    const bool some =
        std::find(on_integers.begin(), on_integers.end(), true) != on_integers.end();
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      const std::size_t side = add_region(i);
      add_cost(side, cost_of(regions_[i]));
      force(side, on_integers[i]);
    }
    place_others();
    if (!some) {
      for (const auto& [id, side] : side_) {
        force(side, false);
      }
    }
    for (const ValueId value : graph_.values()) {
      convert(value);
    }
    return nanoseconds(cut_.solve());
  }

  Placements run() {
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      place_region(i);
    }
    place_others();
    for (const ValueId value : graph_.values()) {
      convert(value);
    }
    const std::vector<bool> on_integers = cut_.solve();
    Placements result;
    result.regions.resize(regions_.size());
    for (std::size_t i = 0; i < regions_.size(); ++i) {
      Placement& own = result.regions[i];
      own.on_integers = on_integers[side_.at(regions_[i].match.root())];
      if (!own.on_integers) {
        explain(regions_[i], own);
      }
    }
    result.nanoseconds = nanoseconds(on_integers);
    for (const Priced& priced : priced_) {
      if (on_integers[priced.from] && !on_integers[priced.to]) {
        result.quantized.insert(priced.name);
      }
    }
    return result;
  }

 private:
  double nanoseconds(const std::vector<bool>& on_integers) const {
    double sum = 0;
    for (const Time& time : times_) {
      if (on_integers[time.from] && !on_integers[time.to]) {
        sum += static_cast<double>(time.picoseconds) / 1e3;
      }
    }
    return sum;
  }

  void force(std::size_t side, bool on_integers) {
    cut_.add_arc(on_integers ? cut_.source() : side, on_integers ? side : cut_.sink(),
                 MinCut::kNever);
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
        add_cost(side_[id], cost_of(id));
      }
    }
  }

  /// Its nodes get one side.
  std::size_t add_region(std::size_t index) {
    const Region& region = regions_[index];
    const std::size_t side = cut_.add_node();
    for (const NodeId id : region.match.nodes()) {
      side_[id] = side;
    }
    NodeId last = region.match.root();
    for (const NodeId id : fused_activations(graph_, region)) {
      side_[id] = side;
      last = id;
    }
    if (settings_.needs_quantized_result(region.match)) {
      stores_.insert(last);
    }
    return side;
  }

  void place_region(std::size_t index) {
    const Region& region = regions_[index];
    const std::size_t side = add_region(index);
    const Cost cost = cost_of(region);
    if (computes_wide_in_float(region)) {
      // Layers that were asked for in 16 bits get them; what would follow them gains nothing.
      const bool follows = region.pattern->follows_neighbours;
      cut_.add_arc(follows ? side : cut_.source(), follows ? cut_.sink() : side,
                   MinCut::kNever);
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
      cut_.add_arc(cut_.source(), side, MinCut::kNever);
    }
  }

  /// Whether it reads or computes values of 16 bits that the target has no kernel for.
  bool computes_wide_in_float(const Region& region) const {
    const auto is_wide = [this](ValueId value) {
      return value && graph_.constant(value) == nullptr &&
             graph_.type(value).dtype == DType::kFloat32 &&
             size_of(settings_.activation(point_root(graph_, value)).spec.storage) == 2;
    };
    return std::any_of(region.match.nodes().begin(), region.match.nodes().end(),
                       [&](NodeId id) {
                         const Node& node = graph_.node(id);
                         const TargetOperator* row = settings_.target_operator(node);
                         return row != nullptr && !row->wide &&
                                (is_wide(fused_result(graph_, region)) ||
                                 std::any_of(node.inputs.begin(), node.inputs.end(), is_wide));
                       });
  }

  void add_price(std::size_t from, std::size_t to, ValueId value) {
    const auto found = prices_.find(graph_.name(value));
    if (found != prices_.end()) {
      cut_.add_arc(from, to, picoseconds(found->second));
      priced_.push_back({from, to, found->first});
    }
  }

  Cost cost_of(NodeId id) const {
    const Node& node = graph_.node(id);
    const TargetOperator* row = settings_.target_operator(node);
    if (row == nullptr) {
      return {};
    }
    const double amount = work(graph_, node);
    return {
        .integers = row->integer_cost * amount + row->window_cost * window_reads(graph_, node),
        .floats = row->float_cost * amount,
        .known = row->float_cost > 0 || row->integer_cost > 0};
  }

  /// Known where the objective is latency and the target gives costs for its products.
  Cost cost_of(const Region& region) const {
    Cost sum;
    sum.known = settings_.objective() == Objective::kLatency;
    for (const NodeId id : region.match.nodes()) {
      const Cost cost = cost_of(id);
      sum.integers += cost.integers;
      sum.floats += cost.floats;
      sum.known &= cost.known || !is_product(graph_.node(id));
    }
    if (counts_gain_ && !region.pattern->follows_neighbours) {
      sum.floats += settings_.target().least_gain;
    }
    return sum;
  }

  static std::int64_t picoseconds(double nanoseconds) {
    constexpr double kLongest = 1e15;
    return std::llround(std::clamp(nanoseconds * 1e3, 0.0, kLongest));
  }

  void add_cost(std::size_t side, const Cost& cost) {
    add_time(cut_.source(), side, picoseconds(cost.floats));
    add_time(side, cut_.sink(), picoseconds(cost.integers));
  }

  void add_time(std::size_t from, std::size_t to, std::int64_t time) {
    cut_.add_arc(from, to, time);
    times_.push_back({from, to, time});
  }

  std::size_t side_of(std::optional<NodeId> id) const {
    const auto found = id ? side_.find(*id) : side_.end();
    return found == side_.end() ? cut_.sink() : found->second;
  }

  /// Without costs the fewest converted elements are best.
  std::int64_t conversion_cost(const Shape& shape) const {
    const ConversionCost& cost = settings_.target().conversion;
    const bool known = cost.call > 0 || cost.element > 0;
    return picoseconds(known ? cost.call + elements(shape) * cost.element
                             : 1 + elements(shape));
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
    std::set<std::size_t> readers;
    for (const NodeId user : graph_.users(value)) {
      readers.insert(side_of(user));
    }
    const auto& outputs = graph_.outputs();
    if (std::find(outputs.begin(), outputs.end(), value) != outputs.end()) {
      readers.insert(cut_.sink());
    }
    readers.erase(from);
    if (readers.empty()) {
      return;
    }
    const std::int64_t cost = conversion_cost(type.shape);
    const std::int64_t layout = layout_cost(type.shape);
    const std::size_t quantized = cut_.add_node();
    add_time(quantized, from, cost);
    add_price(quantized, from, value);
    for (const std::size_t reader : readers) {
      if (reader != cut_.sink()) {
        cut_.add_arc(reader, quantized, MinCut::kNever);
        add_time(reader, from, layout);
      }
    }
    if (stores(value)) {
      const std::size_t dequantized = cut_.add_node();
      add_time(from, dequantized, cost);
      for (const std::size_t reader : readers) {
        cut_.add_arc(dequantized, reader, MinCut::kNever);
        add_time(from, reader, layout);
      }
    }
  }

  /// Whether it is computed as storage values where that runs on integers.
  bool stores(ValueId value) const {
    const auto producer = graph_.producer(value);
    return side_of(producer) != cut_.sink() && stores_.contains(*producer);
  }

  void explain(const Region& region, Placement& own) const {
    if (computes_wide_in_float(region)) {
      own.reason = "the target computes on 16-bit values in float";
      return;
    }
    if (region.pattern->follows_neighbours) {
      own.reason =
          "what it reads or what reads it is float, so converting would cost more than it "
          "saves";
      return;
    }
    const Cost cost = cost_of(region);
    std::ostringstream text;
    text.precision(3);
    text << (cost.floats - settings_.target().least_gain) / 1e3 << " us against "
         << cost.integers / 1e3 << " us and conversions";
    own.reason = "float is faster";
    own.detail = text.str();
  }

  const Graph& graph_;
  const Settings& settings_;
  std::span<const Region> regions_;
  const std::map<std::string, double>& prices_;
  MinCut cut_;
  bool counts_gain_ = true;  ///< small weights are worth some time
  struct Time {
    std::size_t from;
    std::size_t to;
    std::int64_t picoseconds;
  };
  std::vector<Time> times_;
  struct Priced {
    std::size_t from;
    std::size_t to;
    std::string name;
  };
  std::vector<Priced> priced_;
  std::map<NodeId, std::size_t> side_;  ///< other nodes are float
  std::set<NodeId> stores_;             ///< on integers these give storage values
};

}  // namespace

double predicted_nanoseconds(const Graph& graph, const Settings& settings,
                             std::span<const Region> regions,
                             const std::vector<bool>& on_integers) {
  const std::map<std::string, double> no_prices;
  return Placer(graph, settings, regions, no_prices).time_of(on_integers);
}

Placements place(const Graph& graph, const Settings& settings, std::span<const Region> regions,
                 const std::map<std::string, double>& prices) {
  return Placer(graph, settings, regions, prices).run();
}

}  // namespace tare
