#include "prepare/pieces.h"

#include "tare/graph.h"

#include <algorithm>

namespace tare {

std::vector<ValuePiece> pieces_of(const Graph& graph, ValueId value, std::size_t axis) {
  const Shape& shape = graph.type(value).shape;
  const std::vector<ValuePiece> whole{{value, 0, shape.at(axis)}};
  const auto producer = graph.producer(value);
  if (!producer || graph.node(*producer).op != "Concat") {
    return whole;
  }
  const Node& concat = graph.node(*producer);
  const bool is_along =
      normalized_axis(concat.attributes.integer("axis"), shape.size()) == axis;
  if (!is_along || !std::ranges::all_of(concat.inputs, [&](ValueId part) {
        return graph.type(part).shape.size() == shape.size();
      })) {
    return whole;
  }
  std::vector<ValuePiece> pieces;
  for (const ValueId part : concat.inputs) {
    pieces.push_back({part, 0, graph.type(part).shape[axis]});
  }
  return pieces;
}

std::vector<ValuePiece> cut(const std::vector<ValuePiece>& pieces, std::int64_t begin,
                            std::int64_t end) {
  std::vector<ValuePiece> result;
  std::int64_t place = 0;  // where a piece begins
  for (const ValuePiece& piece : pieces) {
    const std::int64_t length = piece.end - piece.begin;
    const std::int64_t from = std::max(begin, place) - place;
    const std::int64_t to = std::min(end, place + length) - place;
    if (from < to) {
      result.push_back({piece.value, piece.begin + from, piece.begin + to});
    }
    place += length;
  }
  return result;
}

ValueId join(Patch& patch, const std::vector<ValuePiece>& pieces, std::size_t axis,
             const std::string& name) {
  std::vector<ValueId> parts;
  TensorType type;
  std::int64_t length = 0;
  for (const ValuePiece& piece : pieces) {
    type = patch.type(piece.value);
    length += piece.end - piece.begin;
    if (piece.end - piece.begin == type.shape[axis]) {
      parts.push_back(piece.value);
      continue;
    }
    const auto number = [&](const char* what, std::int64_t n) {
      return patch.add_constant(name + what, Tensor::of({1}, std::vector<std::int64_t>{n}));
    };
    type.shape[axis] = piece.end - piece.begin;
    parts.push_back(
        patch.add("Slice",
                  {piece.value, number("/begin", piece.begin), number("/end", piece.end),
                   number("/axis", static_cast<std::int64_t>(axis))},
                  type, pieces.size() == 1 ? name : name + "/part"));
  }
  if (parts.size() == 1) {
    return parts[0];
  }
  type.shape[axis] = length;
  return patch.add("Concat", parts, type, name, {{"axis", static_cast<std::int64_t>(axis)}});
}

}  // namespace tare
