// Types are static here, and models are not: a graph is read for one choice of the extents that
// its model leaves open. This compares what follows from that choice with what follows from
// another one. Where values that are computed from shapes differ, they have to stay computed.
#include "onnx/open_dimensions.h"

#include "tare/error.h"

#include "onnx/decisions.h"
#include "onnx/extents_of_inputs.h"
#include "onnx/infer_graph.h"

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tare {
namespace {

/// By the names of dimensions.
using Extents = std::map<std::string, std::int64_t>;

bool is_equal(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::equal(a.data(), a.data() + a.byte_size(), b.data());
}

/// Pads of strided windows depend on the extents, and are decided for those at hand.
bool decides_pads(const Node& node) {
  const auto strides = node.attributes.integers("strides", {});
  return node.attributes.text("auto_pad", "NOTSET").starts_with("SAME") &&
         std::any_of(strides.begin(), strides.end(), [](std::int64_t s) { return s > 1; });
}

/// The graph under one choice of extents after another.
class Choices {
 public:
  Choices(const Graph& graph, const Evaluator& evaluate, const std::set<ValueId>& decisive,
          const std::map<ValueId, Tensor>& assumed)
      : graph_(graph), evaluate_(evaluate), decisive_(decisive), assumed_(assumed) {
    for (const ValueId input : graph.inputs()) {
      for (const auto& [axis, symbol] : symbols(input)) {
        bound_.emplace(symbol, graph.type(input).shape[axis]);
      }
    }
    here_ = inferred(bound_);
  }

  /// What the dimensions of the inputs are bound to in the graph.
  const Extents& bound() const { return bound_; }
  /// Nothing where the graph's own shapes do not follow from those of its inputs.
  const std::optional<InferredValues>& here() const { return here_; }

  /// Nothing where the graph does not hold for these extents.
  std::optional<InferredValues> inferred(const Extents& extents) const try {
    std::map<ValueId, Shape> inputs;
    for (const ValueId input : graph_.inputs()) {
      Shape shape = graph_.type(input).shape;
      for (const auto& [axis, symbol] : symbols(input)) {
        shape[axis] = extents.at(symbol);
      }
      inputs.emplace(input, std::move(shape));
    }
    InferredValues result = infer_graph(graph_, inputs, evaluate_, assumed_);
    return holds(result, extents) ? std::optional(std::move(result)) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }

 private:
  std::vector<std::pair<std::size_t, std::string>> symbols(ValueId id) const {
    std::vector<std::pair<std::size_t, std::string>> result;
    const auto found = graph_.dimension_names.find(graph_.name(id));
    if (found != graph_.dimension_names.end()) {
      for (std::size_t axis = 0; axis < found->second.size(); ++axis) {
        if (!found->second[axis].empty()) {
          result.emplace_back(axis, found->second[axis]);
        }
      }
    }
    return result;
  }

  /// Whether all that was decided for the extents at hand would be decided like that for these,
  /// and outputs are as the model declares them, where they are in the graph.
  bool holds(const InferredValues& there, const Extents& extents) const {
    const bool decides_equally =
        !here_ || std::all_of(decisive_.begin(), decisive_.end(), [&](ValueId id) {
          const auto before = here_->known.find(id);
          const auto after = there.known.find(id);
          return before != here_->known.end() && after != there.known.end() &&
                 is_equal(before->second, after->second);
        });
    return decides_equally && pads_hold(there) && outputs_hold(there, extents);
  }

  bool pads_hold(const InferredValues& there) const {
    const std::vector<NodeId> nodes = graph_.nodes();
    return std::none_of(nodes.begin(), nodes.end(), [&](NodeId id) {
      const Node& node = graph_.node(id);
      if (!decides_pads(node)) {
        return false;
      }
      const Shape& before = graph_.type(node.inputs[0]).shape;
      const auto found = there.shapes.find(node.inputs[0]);
      const Shape& after = found == there.shapes.end() ? before : found->second;
      return !std::equal(before.begin() + 2, before.end(), after.begin() + 2, after.end());
    });
  }

  bool outputs_hold(const InferredValues& there, const Extents& extents) const {
    for (const ValueId id : graph_.outputs()) {
      const auto inferred = there.shapes.find(id);
      for (const auto& [axis, symbol] : symbols(id)) {
        const auto bound = bound_.find(symbol);
        if (inferred == there.shapes.end() || bound == bound_.end() ||
            graph_.type(id).shape.at(axis) != bound->second) {
          continue;
        }
        if (inferred->second.at(axis) != extents.at(symbol)) {
          return false;
        }
      }
    }
    return true;
  }

  const Graph& graph_;
  const Evaluator& evaluate_;
  const std::set<ValueId>& decisive_;
  const std::map<ValueId, Tensor>& assumed_;
  Extents bound_;
  std::optional<InferredValues> here_;
};

using Change = std::function<std::int64_t(std::int64_t extent, std::size_t place)>;

/// Ways to choose other extents. Different factors tell dimensions apart, equal ones keep sums
/// and multiples, and lower extents stay within tables of positions.
std::vector<Change> changes() {
  constexpr std::array<std::int64_t, 6> kPrimes{2, 3, 5, 7, 11, 13};
  return {
      [kPrimes](std::int64_t extent, std::size_t place) {
        return extent * kPrimes[place % kPrimes.size()];
      },
      [](std::int64_t extent, std::size_t) { return extent * 2; },
      [](std::int64_t extent, std::size_t) { return extent * 3; },
      [](std::int64_t extent, std::size_t) {
        return extent == 1 ? 2 : extent % 2 == 0 ? extent / 2 : extent - 1;
      },
      [](std::int64_t extent, std::size_t) { return extent == 1 ? 3 : extent - 1; },
      [](std::int64_t extent, std::size_t) { return extent + 1; },
  };
}

/// Gives as many of these dimensions other extents as the graph holds for. It has to hold for
/// two choices: for one it may by chance, where what has to stay as it is is a product of
/// extents. Where not all of them can change at once, each half is tried by itself, so a few
/// that cannot are found among many in few passes.
void change_extents(const Choices& choices, std::span<const std::string> symbols,
                    Extents& extents) {
  std::vector<Extents> held;
  std::set<Extents> tried;
  for (const Change& change : changes()) {
    Extents others = extents;
    for (std::size_t place = 0; place < symbols.size(); ++place) {
      others[symbols[place]] = change(choices.bound().at(symbols[place]), place);
    }
    if (tried.insert(others).second && choices.inferred(others)) {
      held.push_back(std::move(others));
    }
    if (held.size() == 2) {
      extents = std::move(held[0]);
      return;
    }
  }
  if (symbols.size() > 1) {
    const std::size_t half = symbols.size() / 2;
    change_extents(choices, symbols.first(half), extents);
    change_extents(choices, symbols.subspan(half), extents);
  }
}

/// Extents for which the graph holds, other ones than in the graph for as many dimensions as
/// can be found.
Extents other_extents(const Choices& choices) {
  Extents extents = choices.bound();
  std::vector<std::string> symbols;
  for (const auto& [symbol, extent] : extents) {
    symbols.push_back(symbol);
  }
  change_extents(choices, symbols, extents);
  return extents;
}

void fold_equal_values(Graph& graph, const InferredValues& here, const InferredValues& there) {
  for (const ValueId id : computed_from_shapes(graph)) {
    const auto before = here.known.find(id);
    const auto after = there.known.find(id);
    if (before == here.known.end() || after == there.known.end() ||
        !is_equal(before->second, after->second)) {
      continue;
    }
    const std::string name = graph.name(id);
    const ValueId constant = graph.add_constant(graph.unique_name(name), before->second);
    graph.replace_uses(id, constant);
    if (graph.name(id) == name) {
      graph.rename(id, graph.unique_name(name + "_computed"));
    }
    graph.rename(constant, name);
  }
  graph.erase_unused();
}

/// The target of a Reshape, with 0 for extents that are those of the operand on the same axis,
/// and -1 for one that is open otherwise. Nothing where more are, or where one is 0.
std::optional<std::vector<std::int64_t>> target(const Shape& in_here, const Shape& in_there,
                                                const Shape& here, const Shape& there) {
  std::vector<std::int64_t> result;
  bool is_open = false;
  for (std::size_t axis = 0; axis < here.size(); ++axis) {
    if (here[axis] == 0 || there[axis] == 0) {
      return std::nullopt;
    }
    if (here[axis] == there[axis]) {
      result.push_back(here[axis]);
    } else if (axis < in_here.size() && in_here[axis] == here[axis] &&
               in_there[axis] == there[axis]) {
      result.push_back(0);
    } else if (!is_open) {
      is_open = true;
      result.push_back(-1);
    } else {
      return std::nullopt;
    }
  }
  return result;
}

/// Of targets that are constants only those change whose -1 is the first extent of the operand,
/// which clean-up rules recognise as 0. Others say the same as before.
bool is_worth_saying(const std::vector<std::int64_t>& before,
                     const std::vector<std::int64_t>& target) {
  return !before.empty() && before.front() == -1 && target.front() == 0 &&
         std::find(target.begin(), target.end(), -1) == target.end();
}

void copy_extents(Graph& graph, const InferredValues& here, const InferredValues& there) {
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (node.op != "Reshape" || !here.shapes.contains(node.inputs[0])) {
      continue;  // a constant has one shape
    }
    const auto made = target(here.shapes.at(node.inputs[0]), there.shapes.at(node.inputs[0]),
                             here.shapes.at(node.outputs[0]), there.shapes.at(node.outputs[0]));
    const auto before = constant_integers(graph, node, 1);
    if (!made || (before && !is_worth_saying(*before, *made))) {
      continue;
    }
    Attributes attributes = node.attributes;
    attributes.erase("allowzero");
    const ValueId constant =
        graph.add_constant(graph.unique_name(node.name + "/shape"),
                           Tensor::of({static_cast<std::int64_t>(made->size())}, *made));
    graph.set_attributes(id, std::move(attributes));
    graph.set_input(id, 1, constant);
  }
}

void fix_dimensions(Graph& graph, const Extents& fixed) {
  for (auto names = graph.dimension_names.begin(); names != graph.dimension_names.end();) {
    std::vector<std::string>& list = names->second;
    for (std::string& name : list) {
      name = fixed.contains(name) ? std::string() : name;
    }
    const bool is_static =
        std::all_of(list.begin(), list.end(), [](const std::string& n) { return n.empty(); });
    names = is_static ? graph.dimension_names.erase(names) : std::next(names);
  }
  graph.fixed_dimensions.insert(fixed.begin(), fixed.end());
}

}  // namespace

void keep_dimensions_open(Graph& graph, const Evaluator& evaluate,
                          const std::set<ValueId>& decisive,
                          const std::map<ValueId, Tensor>& assumed) {
  const Choices choices(graph, evaluate, decisive, assumed);
  if (choices.bound().empty()) {
    return;
  }
  const Extents others = choices.here() ? other_extents(choices) : choices.bound();
  const auto there = choices.inferred(others);
  if (!there) {
    fix_dimensions(graph, choices.bound());
    graph.dimension_names.clear();
    return;
  }
  Extents fixed;
  for (const auto& [symbol, extent] : choices.bound()) {
    if (others.at(symbol) == extent) {
      fixed.emplace(symbol, extent);
    }
  }
  const InferredValues here = *choices.here();
  const auto decisions =
      std::make_shared<const Decisions>(graph, decisive, here, evaluate, assumed);
  fix_dimensions(graph, fixed);
  if (fixed.size() == choices.bound().size()) {
    graph.dimension_names.clear();  // so the outputs have no open ones either
    return;
  }
  fold_equal_values(graph, here, *there);
  copy_extents(graph, here, *there);
  graph.erase_unused();
  say_extents_by_inputs(graph, here, *there);
  graph.reshape =
      std::make_shared<const std::function<Graph(const Graph&, std::span<const Shape>)>>(
          [decisions, evaluate](const Graph& any_stage, std::span<const Shape> shapes) {
            decisions->expect_same(any_stage, shapes);
            return with_input_shapes(any_stage, shapes, evaluate);
          });
}

}  // namespace tare
