#pragma once

#include "tare/model_files.h"
#include "tare/node.h"

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tare {

/// A node whose results have no types yet.
struct Draft {
  std::string name;
  std::string op;
  std::vector<ValueId> inputs;
  std::vector<std::string> outputs;  ///< names; an absent result before a present one is empty
  Attributes attributes;

  bool has_input(std::size_t i) const { return i < inputs.size() && inputs[i]; }
  /// Adds absent operands before it where needed.
  void set_input(std::size_t i, ValueId);
  void drop_trailing_absent_inputs();
};

/// Grows a graph node by node, producers first, inferring types and following the values that
/// can be known without running it (shapes computed inside the graph).
class GraphBuilder {
 public:
  /// `reserved`: the names of the model and generated ones, which new ones keep clear of and
  /// join. Both outlive the builder.
  GraphBuilder(const ReadOptions&, std::set<std::string>& reserved);
  GraphBuilder(GraphBuilder&&) noexcept;
  ~GraphBuilder();

  /// What is emitted from now on is, or is part of, that operator of the model.
  void begin(Origin origin) { origin_ = std::move(origin); }

  /// Whether the operator exists and ReadOptions allow it.
  bool supports(const std::string& op) const;

  /// Appends the node and returns its results. Throws Error with an empty `where`;
  /// kUnsupported when the operator or a type is not supported.
  std::vector<ValueId> emit(Draft);
  /// The same where the types of the results need not be inferred.
  std::vector<ValueId> emit(Draft, std::vector<TensorType> results);
  /// The same for a helper node with one result; both are named after `wanted`.
  ValueId emit_helper(std::string_view wanted, std::string op, std::vector<ValueId> inputs,
                      Attributes = {});
  ValueId add_constant(std::string_view wanted, Tensor);

  /// The shape of a value, for the target of a Reshape: a constant, or read from the value
  /// where the model leaves extents open.
  ValueId extents_of(ValueId, std::string_view wanted);

  const TensorType& type(ValueId) const;
  const Shape& shape(ValueId id) const { return type(id).shape; }
  /// Null unless the value is a constant or was computed from constants and shapes.
  const Tensor* known(ValueId) const;
  /// The same where what is emitted depends on the value, which for other shapes of the inputs
  /// might be another one: see decisive_values().
  const Tensor* decisive(ValueId);
  /// Operand `i`, which must be known and is decisive. Throws Error(kUnsupported) when it
  /// depends on data.
  const Tensor& required(const Draft&, std::size_t i);
  /// What was asked for by decisive() and is no constant.
  const std::set<ValueId>& decisive_values() const { return decisive_; }

  std::string fresh_name(std::string_view wanted);
  Graph& graph() { return *graph_; }
  const Graph& graph() const { return *graph_; }
  /// Follows values of any size, up to 1 GiB of all together: what takes more is an
  /// Error(kInvalidData).
  void know_all() { knows_all_ = true; }
  /// Says what a value is that this graph does not compute.
  void assume(ValueId id, Tensor tensor) { computed_.emplace(id, std::move(tensor)); }

 private:
  void remember(const Node&);
  void require_room(const std::vector<TensorType>&);

  const ReadOptions& options_;
  std::set<std::string>& reserved_;
  Origin origin_;
  bool knows_all_ = false;
  std::size_t known_bytes_ = 0;   ///< where all is known
  std::unique_ptr<Graph> graph_;  // so that rules need not read graph.h
  std::map<ValueId, Tensor> computed_;
  std::set<ValueId> decisive_;
};

}  // namespace tare
