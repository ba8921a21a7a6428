#pragma once

#include "tare/graph.h"

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace tare {

/// Which channels of which values have to be scaled alike, since nothing but nodes that hand
/// scales on lies between them. Products with constant weights are the borders of a class: they
/// can take any factor in, and give any factor out.
class ChannelClasses {
 public:
  using Predicate = std::function<bool(const Node&)>;

  /// Of the layers only those that `take` takes are borders.
  explicit ChannelClasses(
      const Graph&, Predicate take = [](const Node&) { return true; });

  /// A product with constant weights that nothing else reads, and one such bias for each result
  /// or none: its constants can change without anyone else noticing.
  bool takes_factors(const Node&) const;

  /// The class of each channel of a value, with nothing for those that cannot be scaled; empty
  /// for values without channels.
  std::vector<std::optional<std::size_t>> of(ValueId) const;
  std::size_t count() const { return parents_.size(); }  ///< classes are numbered below that

 private:
  void add(ValueId value);
  void visit(const Node& node);
  bool hand_on(const Node& node);
  bool follow(const Node& node);
  void join(ValueId a, ValueId b);
  void join(std::size_t a, std::size_t b);
  void fix(ValueId value);
  std::size_t root(std::size_t channel);
  std::size_t channels(ValueId value) const;

  const Graph& graph_;
  Predicate take_;
  std::map<ValueId, std::size_t> first_;  ///< of the value's channels
  std::vector<std::size_t> parents_;      ///< none comes after its channel
  std::vector<bool> fixed_;
};

}  // namespace tare
