#pragma once

#include "tare/graph.h"

#include "fuzz/choices.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tare::fuzz {

using Integers = std::vector<std::int64_t>;

/// What a value is for each choice of the extents that a network leaves open; the graph has the
/// first one.
using Shapes = std::vector<Shape>;

/// What networks are made of.
struct NetworkKind {
  bool has_inner_graphs = false;  ///< If, Loop and Scan
  bool has_sequences = false;     ///< recurrent layers, attention
  bool has_open_extents = false;  ///< and samples of several shapes
  bool has_state = false;         ///< outputs that are inputs of the next step
  bool has_other_layers = false;  ///< gates, normalizations, reductions, splits
  /// Numbers as trained networks have them, so that two engines are as far apart as rounding
  /// explains. If not, numbers may be extreme.
  bool is_tame = false;
};

/// A network that grows node by node.
class Drawing {
 public:
  Drawing(Choices& choices, NetworkKind drawn) : choose(choices), kind(drawn) {}

  const Shapes& shapes_of(ValueId value) const { return shapes_.at(value); }
  const Shape& shape_of(ValueId value) const { return shapes_.at(value)[0]; }
  std::size_t rank_of(ValueId value) const { return shape_of(value).size(); }
  /// Whether that extent is the same for all choices.
  bool is_fixed(ValueId, std::size_t axis) const;
  bool is_fixed(ValueId) const;
  /// The shapes that follow from those of a value.
  template <class Rule>
  Shapes each(ValueId value, const Rule& rule) const {
    Shapes result;
    for (const Shape& shape : shapes_of(value)) {
      result.push_back(rule(shape));
    }
    return result;
  }
  /// The same one for all choices.
  Shapes always(Shape shape) const { return Shapes(count, std::move(shape)); }

  ValueId input(const std::string& name, Shapes, DType = DType::kFloat32);
  ValueId op(const char* name, std::vector<ValueId> inputs, Shapes, Attributes = {},
             DType = DType::kFloat32);
  /// Several results in f32.
  std::vector<ValueId> ops(const char* name, std::vector<ValueId> inputs,
                           const std::vector<Shapes>&, Attributes = {});

  /// Like those of networks, or unlike them; of tame ones sums of `terms` stay of order 1.
  Tensor numbers(const Shape&, std::int64_t terms = 1);
  ValueId constant(const Shape&, std::int64_t terms = 1);
  ValueId constant_of(Tensor);
  ValueId scalar(float value) { return constant_of(Tensor::scalar(value)); }
  ValueId integers(const Integers&);

  /// Recent values more often.
  ValueId any() { return choose.coin() ? values.back() : choose.of(values); }
  /// Keeps a value for what follows, if it is not too large.
  void keep(ValueId);

  Choices& choose;
  NetworkKind kind;
  std::size_t count = 1;   ///< of shapes of each value
  bool is_within = false;  ///< another network's node
  Graph graph;
  std::vector<ValueId> values;  ///< to be read: in f32, of rank 2 to 4
  std::vector<ValueId> given;   ///< of these, inputs of the network, on which two engines agree

 private:
  std::map<ValueId, Shapes> shapes_;
};

}  // namespace tare::fuzz
