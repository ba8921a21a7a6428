#pragma once

#include "tare/graph.h"
#include "tare/report.h"

#include "compare/layers.h"

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace tare {

/// A quantized network in real values, in which changes of its configuration can be tried
/// without quantizing it again: every operator reads expressed values, and what it computes is
/// rounded to storage values behind it. Costs one copy of the graph a change.
class ChangeableNetwork {
 public:
  /// `real` is the float network that `integer` was made of, with the same inputs.
  ChangeableNetwork(const Graph& real, const Graph& integer);

  /// Whether the network has these layers, with all that they read, and that point.
  bool has(const ProposedChange&) const;

  /// With these changes, of which it has each: layers that stay float compute what they do in
  /// `real`, and hand real values to each other; a point has parameters of its storage type for
  /// the other range, and so has what shares its own.
  Graph with(std::span<const ProposedChange>) const;

 private:
  using Copies = std::map<ValueId, ValueId>;

  void copy_layer(const ComparedLayer&, Copies&, Graph&) const;
  void hand_over(ValueId real, ValueId copy, Graph&) const;
  void keep_float(const std::set<std::string>& layers, Graph&) const;
  void change_range(const std::string& point, const Range&, Graph&) const;
  ValueId expressed(ValueId real) const;

  const Graph& real_;
  Comparison comparison_;  ///< of the integer graph
  std::map<std::string, QuantParams> points_;
  Graph expressed_;
  std::map<ValueId, std::vector<ValueId>> forms_;  ///< of `expressed_`, by value of `real`
};

}  // namespace tare
