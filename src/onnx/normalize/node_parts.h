#pragma once

#include "onnx/builder.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tare {

/// The nodes that stand for one of a model. Their names begin with its name.
class NodeParts {
 public:
  NodeParts(Draft& draft, GraphBuilder& builder) : draft_(draft), builder_(builder) {}

  const Attributes& attributes() const { return draft_.attributes; }
  bool has(std::size_t operand) const { return draft_.has_input(operand); }
  /// Throws Error(kInvalidModel) where it is absent.
  ValueId input(std::size_t operand) const;
  ValueId optional(std::size_t operand) const;
  /// A copy, as graphs that grow move what they have.
  Shape shape(ValueId id) const { return builder_.shape(id); }
  DType dtype(ValueId id) const { return builder_.type(id).dtype; }
  /// Its extent along an axis.
  std::int64_t extent(ValueId id, std::size_t axis) const;
  std::size_t rank(ValueId id) const { return shape(id).size(); }
  const GraphBuilder& builder() const { return builder_; }

  ValueId add(std::string_view part, std::string op, std::vector<ValueId> inputs,
              Attributes attributes = {});
  ValueId number(std::string_view part, DType, double value);
  ValueId integers(std::string_view part, const std::vector<std::int64_t>& values);
  ValueId constant(std::string_view part, Tensor);

  ValueId reshape(std::string_view part, ValueId, const std::vector<std::int64_t>& shape);
  ValueId transpose(std::string_view part, ValueId, std::vector<std::int64_t> perm);
  ValueId concat(std::string_view part, std::vector<ValueId>, std::int64_t axis);
  /// Elements [begin, end) along an axis.
  ValueId slice(std::string_view part, ValueId, std::int64_t axis, std::int64_t begin,
                std::int64_t end);
  ValueId unsqueeze(std::string_view part, ValueId, const std::vector<std::int64_t>& axes);

  /// Whether something may read result `i`.
  bool wants(std::size_t i) const {
    return i < draft_.outputs.size() && !draft_.outputs[i].empty();
  }
  /// Makes another result than the first one.
  void result(std::size_t i, ValueId);
  /// What computes the first result; only that one is left to the draft.
  void finish(std::string op, std::vector<ValueId> inputs, Attributes attributes = {});

 private:
  Draft& draft_;
  GraphBuilder& builder_;
};

}  // namespace tare
