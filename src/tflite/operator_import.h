#pragma once

#include "tflite/graph_import.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tare::tflite {

/// One operator of the file while it becomes nodes. Operands and results are counted as the
/// file counts them. What the file breaks throws Error(kInvalidModel), what is not known here
/// Error(kUnsupported).
class OperatorImport {
 public:
  OperatorImport(GraphImport& graph, const FileOperator& op) : graph_(graph), op_(op) {}

  /// The options of that type; throws when the operator has none or others.
  template <class Options>
  const Options& options() const {
    const auto* found = given_options<Options>();
    if (found == nullptr) {
      refuse("has no options of its own");
    }
    return *found;
  }
  /// Null where files may leave them out, and have.
  template <class Options>
  const Options* given_options() const {
    return op_.options->template builtin_options_as<Options>();
  }

  /// Those of a custom operator, in a form of its own; empty where there are none.
  std::span<const std::byte> custom_options() const;

  std::size_t input_count() const { return op_.inputs.size(); }
  std::size_t output_count() const { return op_.outputs.size(); }
  bool has_input(std::size_t i) const { return i < op_.inputs.size() && op_.inputs[i] >= 0; }
  const FileTensor& input(std::size_t i) const;
  const FileTensor& output(std::size_t i = 0) const;
  /// A tensor whose parameters say how values are stored between steps; null where the file has
  /// none.
  const FileTensor* intermediate(std::size_t i) const;
  const Shape& shape(std::size_t i) const { return input(i).type.shape; }
  std::size_t rank(std::size_t i) const { return shape(i).size(); }
  /// Throws unless operand i has that rank.
  void require_rank(std::size_t i, std::size_t rank) const;
  /// An axis of operand i that may count from the end.
  std::int64_t axis(std::int64_t axis, std::size_t rank) const;

  ValueId value(std::size_t i, Order);
  /// The integers of operand i, which has parameters.
  ValueId storage(std::size_t i, Order order) {
    return graph_.storage(op_.inputs.at(i), order);
  }
  /// A constant operand with its axes in that order.
  ValueId constant(std::size_t i, const std::vector<std::int64_t>& order);
  /// Elements in place of those of constant operand i, with its parameters.
  ValueId elements(std::size_t i, const Tensor& instead) {
    return graph_.expressed_elements(op_.inputs.at(i), instead);
  }
  /// Real values as storage with the parameters of operand i leaves them.
  ValueId rounded(std::size_t i, ValueId value) {
    return graph_.rounded(op_.inputs.at(i), value);
  }
  /// Operand i so that it broadcasts against values of that rank in that order.
  ValueId broadcastable(std::size_t i, std::size_t rank, Order);
  /// The elements of a constant operand.
  std::vector<std::int64_t> integers(std::size_t i) const;
  /// Its only element.
  std::int64_t integer(std::size_t i) const;

  /// The order in which operand i is there already, for operators that work in either.
  Order order_of(std::size_t i) const;
  /// Of all computed operands of rank 4: channels first where one of them is so.
  Order common_order() const;

  /// Throws unless all have one type of elements.
  void require_alike(const std::vector<ValueId>&) const;
  /// A node whose result has that shape and the type of elements of its first operand.
  ValueId add(const std::string& op, std::vector<ValueId> inputs, const Shape&,
              Attributes = {});
  ValueId add(const std::string& op, std::vector<ValueId> inputs, const Shape&, DType,
              Attributes = {});
  /// A node with several results, named as the file names them.
  std::vector<ValueId> add_several(const std::string& op, std::vector<ValueId> inputs,
                                   const std::vector<TensorType>&, Attributes);
  /// The same elements in another type; the value itself where they have it.
  ValueId cast(ValueId, DType);
  /// The same elements under another shape. Throws when their number differs.
  ValueId reshaped(ValueId, const Shape&);
  /// The same elements repeated to a shape. Throws where they do not broadcast to it.
  ValueId expanded(ValueId, const Shape&);
  /// The shape that the integers of operand i are. Where these are computed, it is that of the
  /// result, as the file says.
  Shape shape_from(std::size_t i) const;
  /// Values beside each other along an axis. Throws where their other extents differ.
  ValueId concatenated(const std::vector<ValueId>&, std::size_t axis);
  /// Parts of these extents along an axis. Throws where they do not add up.
  std::vector<ValueId> split(ValueId, std::size_t axis,
                             const std::vector<std::int64_t>& extents);
  ValueId indices(const std::vector<std::int64_t>&);
  ValueId number(const Tensor&);
  ValueId number(float value) { return number(Tensor::scalar(value)); }
  /// What follows an operator by its options.
  ValueId activated(ValueId, schema::Activation);
  void define(Order order, ValueId value, std::size_t i = 0) {
    graph_.define(op_.outputs.at(i), order, value);
  }
  /// A result in the file's order, of which files may leave the shape open.
  void define_unshaped(ValueId value, std::size_t i) {
    graph_.define_unshaped(op_.outputs.at(i), value);
  }
  void define_constant(Tensor values) {
    graph_.define_constant(op_.outputs.at(0), std::move(values));
  }
  void define_storage(Order order, ValueId value) {
    graph_.define_storage(op_.outputs.at(0), order, value);
  }
  Shape shape_of(ValueId value) const { return graph_.type(value).shape; }
  GraphImport& graph() { return graph_; }
  Numerics numerics() const { return graph_.numerics(); }

  [[noreturn]] void refuse(const std::string& what, const std::string& expected = {}) const;
  [[noreturn]] void unsupported(const std::string& what,
                                const std::string& expected = {}) const;

 private:
  GraphImport& graph_;
  const FileOperator& op_;
};

}  // namespace tare::tflite
