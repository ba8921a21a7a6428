#pragma once

#include "tare/graph.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tare {

/// Rebuilds an integer graph with the operators of ONNX, node by node. A value of the integer
/// graph gets a storage value, a real one, or both, whichever its readers ask for; conversions
/// between them are QuantizeLinear and DequantizeLinear. A node that the form has no operator
/// on storage values for runs on real ones. One that takes them for plain integers, a Cast for
/// one, goes on doing so.
class FormBuilder {
 public:
  explicit FormBuilder(const Graph& integer);
  virtual ~FormBuilder() = default;

  Graph build();

 protected:
  /// Gives results of the node, or of what follows it, and says true; or leaves all as it is.
  virtual bool on_storage(const Node&) { return false; }
  /// Storage values of that type, by way of real ones; named as said, what belongs to them
  /// after the original. `may_leave` is false where they keep to a part of the storage type
  /// anyway.
  virtual ValueId quantized(ValueId expressed, const TensorType&, const std::string& name,
                            const std::string& original, bool may_leave = true);
  /// Real values that the storage values of a value of the integer graph stand for with the
  /// parameters of that type: its own ones, or others.
  virtual ValueId dequantized(ValueId value, const TensorType&);

  const Graph& from() const { return from_; }
  Graph& to() { return to_; }
  const QuantParams& params(ValueId value) const { return *from_.type(value).quant; }

  /// What stands for a value of the integer graph.
  bool has_storage(ValueId value) const { return storage_.contains(value); }
  ValueId storage(ValueId value);
  ValueId expressed(ValueId value);
  void set_storage(ValueId value, ValueId storage) { storage_[value] = storage; }
  void set_expressed(ValueId value, ValueId expressed) { expressed_[value] = expressed; }

  /// A node with one result, both named after `name`.
  ValueId add(const std::string& op, std::vector<ValueId> inputs, const TensorType&,
              const std::string& name, const Attributes& = {});
  /// A constant; one value for all that are equal.
  ValueId shared_constant(const std::string& name, const Tensor&);
  /// Scale and zero point as QuantizeLinear has them: those of a value of the integer graph, or
  /// others, named after it.
  std::pair<ValueId, ValueId> parameters(ValueId value) {
    return parameters(from_.type(value), original(value));
  }
  std::pair<ValueId, ValueId> parameters(const TensorType&, const std::string& name);
  /// What the float network calls a value of the integer graph, see original_name().
  std::string original(ValueId value) const;

  /// Whether the node only moves or bounds values that have the parameters of its result.
  bool stays_in_range(const Node&, const TensorType& result) const;
  ValueId clipped(ValueId expressed, const QuantParams&, const std::string& original);

  static TensorType plain(const TensorType&, DType);
  /// Those of ONNX, without accumulator and numerics.
  static Attributes plain(Attributes);

 private:
  void add_input(ValueId);
  void visit(const Node&);
  void as_it_is(const Node&);
  void on_expressed(const Node&);
  void average_integers(const Node&, std::int32_t centre);
  NodeId copy(const Node&, std::vector<ValueId> operands, bool on_storage);
  ValueId of_dequantize(const Node&);
  ValueId named_output(ValueId);

  const Graph& from_;
  Graph to_;
  std::map<ValueId, ValueId> storage_;
  std::map<ValueId, ValueId> expressed_;
  std::set<ValueId> named_;  ///< dequantized ones that are results of the model
  std::multimap<std::uint64_t, ValueId> shared_;  ///< constants by a digest of their bytes
};

/// Whether the node of an integer graph computes with integers whatever parameters they have,
/// as files may, or with real values only.
bool is_raw(const Graph& integer, const Node&);

/// A value in int32 or int64: what a product of storage values sums up in.
bool is_accumulator(const TensorType&);

}  // namespace tare
