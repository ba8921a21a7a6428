// Exporters ask values inside of a network for their shapes, although most extents there are
// those of its inputs.
#include "onnx/extents_of_inputs.h"

#include "graph/operators/shape_facts.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace tare {
namespace {

class ByInputs {
 public:
  ByInputs(Graph& graph, const InferredValues& here, const InferredValues& there)
      : graph_(graph), here_(here), there_(there) {}

  void run() {
    const std::set<ValueId> computed = computed_from_shapes(graph_);
    std::vector<NodeId> order = graph_.topological_order();
    std::set<ValueId> inner;  // that depend on shapes of values that are no inputs
    for (const NodeId id : order) {
      const Node& node = graph_.node(id);
      const bool reads_inner =
          reads_shape_only(node)
              ? !graph_.is_input(node.inputs[0])
              : std::any_of(node.inputs.begin(), node.inputs.end(),
                            [&](ValueId input) { return inner.contains(input); });
      if (reads_inner && computed.contains(node.outputs[0])) {
        inner.insert(node.outputs.begin(), node.outputs.end());
      }
    }
    for (const ValueId id : inner) {
      auto places = places_of(id);
      if (places && std::any_of(places->begin(), places->end(),
                                [](const auto& place) { return place.has_value(); })) {
        said_.emplace(id, *std::move(places));
      }
    }
    for (const auto& [id, places] : said_) {
      const auto users = graph_.users(id);
      const bool is_needed = std::any_of(users.begin(), users.end(), [&](NodeId user) {
        return !said_.contains(graph_.node(user).outputs[0]);
      });
      if (is_needed && !graph_.is_output(id)) {
        graph_.replace_uses(id, made(id, places));
      }
    }
    graph_.erase_unused();
  }

 private:
  /// An axis of an input.
  struct Place {
    ValueId input;
    std::int64_t axis = 0;
  };
  /// Of each element, where it is from; nothing for those that do not change.
  using Places = std::vector<std::optional<Place>>;

  /// The axis with these extents here and there; nothing where dimensions of several names have
  /// them.
  std::optional<Place> place_of(std::int64_t here, std::int64_t there) const {
    std::optional<Place> place;
    std::set<std::string> names;
    for (const ValueId input : graph_.inputs()) {
      const Shape& before = here_.shapes.at(input);
      const Shape& after = there_.shapes.at(input);
      for (std::size_t axis = 0; axis < before.size(); ++axis) {
        if (before[axis] == here && after[axis] == there) {
          names.insert(graph_.dimension_names.at(graph_.name(input)).at(axis));
          place = place ? place : Place{input, static_cast<std::int64_t>(axis)};
        }
      }
    }
    return names.size() == 1 ? place : std::nullopt;
  }

  /// Nothing where not all elements are constants and extents of inputs.
  std::optional<Places> places_of(ValueId id) const {
    const auto before = here_.known.find(id);
    const auto after = there_.known.find(id);
    if (before == here_.known.end() || after == there_.known.end() ||
        before->second.dtype() != DType::kInt64 ||
        before->second.shape() != after->second.shape() || before->second.shape().size() > 1) {
      return std::nullopt;
    }
    const std::vector<std::int64_t> here = before->second.to_int64();
    const std::vector<std::int64_t> there = after->second.to_int64();
    Places places;
    for (std::size_t i = 0; i < here.size(); ++i) {
      places.emplace_back();
      if (here[i] != there[i]) {
        places.back() = place_of(here[i], there[i]);
        if (!places.back()) {
          return std::nullopt;
        }
      }
    }
    return places;
  }

  ValueId made(ValueId id, const Places& places) {
    const std::vector<std::int64_t> here = here_.known.at(id).to_int64();
    if (here_.known.at(id).shape().empty()) {
      return extent(*places[0], {});
    }
    std::vector<ValueId> parts;
    for (std::size_t i = 0; i < places.size(); ++i) {
      parts.push_back(places[i] ? extent(*places[i], {1})
                                : constant(Tensor::of<std::int64_t>({1}, {here[i]})));
    }
    return parts.size() == 1
               ? parts[0]
               : node("Concat", std::move(parts), {static_cast<std::int64_t>(here.size())},
                      {{"axis", std::int64_t{0}}});
  }

  ValueId extent(const Place& place, const Shape& shape) {
    const auto [found, is_new] =
        extents_.try_emplace({place.input, place.axis, shape.size()}, ValueId{});
    if (is_new) {
      const auto [shapes, is_first] = shapes_.try_emplace(place.input, ValueId{});
      if (is_first) {
        const auto rank = static_cast<std::int64_t>(graph_.type(place.input).shape.size());
        shapes->second = node("Shape", {place.input}, {rank}, {});
      }
      const Tensor index = Tensor::of<std::int64_t>(shape, {place.axis});
      found->second =
          node("Gather", {shapes->second, constant(index)}, shape, {{"axis", std::int64_t{0}}});
    }
    return found->second;
  }

  ValueId constant(Tensor tensor) {
    return graph_.add_constant(graph_.unique_name("extent"), std::move(tensor));
  }
  ValueId node(const char* op, std::vector<ValueId> inputs, Shape shape,
               Attributes attributes) {
    const std::string name = graph_.unique_name("extents");
    TensorType type{
        .dtype = DType::kInt64, .shape = std::move(shape), .quant = {}, .point = {}};
    const NodeId id = graph_.add_node(name, op, std::move(inputs), {{name, std::move(type)}},
                                      std::move(attributes));
    return graph_.node(id).outputs[0];
  }

  Graph& graph_;
  const InferredValues& here_;
  const InferredValues& there_;
  std::map<ValueId, Places> said_;
  std::map<std::tuple<ValueId, std::int64_t, std::size_t>, ValueId> extents_;
  std::map<ValueId, ValueId> shapes_;
};

}  // namespace

std::set<ValueId> computed_from_shapes(const Graph& graph) {
  std::set<ValueId> result;
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    const bool reads_one = std::any_of(node.inputs.begin(), node.inputs.end(),
                                       [&](ValueId input) { return result.contains(input); });
    if (reads_one || reads_shape_only(node)) {
      result.insert(node.outputs.begin(), node.outputs.end());
    }
  }
  return result;
}

void say_extents_by_inputs(Graph& graph, const InferredValues& here,
                           const InferredValues& there) {
  ByInputs(graph, here, there).run();
}

}  // namespace tare
