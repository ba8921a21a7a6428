#pragma once

#include "lower/forms/form_builder.h"

#include <optional>

namespace tare {

/// A form in which operators that move, pick or bound elements run on 8-bit storage values.
class StorageFormBuilder : public FormBuilder {
 public:
  using FormBuilder::FormBuilder;

 protected:
  /// Gives the node's results when it is such an operator, and says so.
  bool move(const Node&);

 private:
  bool rectify(const Node&);
  bool clip(const Node&);
  bool pad(const Node&);
  bool concatenate(const Node&);
  void move(const Node&, const std::string& op, std::vector<ValueId> operands);
  ValueId stored_constant(ValueId expressed, const TensorType&);
};

/// Storage values in 8 bits.
bool is_byte(const TensorType&);

/// Every channel has the same zero point.
bool has_one_zero_point(const QuantParams&);

/// Sums of products of 8-bit storage values, which ONNX has integer operators for.
struct ProductNode {
  const Node& node;
  const TensorType& x;
  const TensorType& w;
  ValueId bias;  ///< absent when there is none
};
std::optional<ProductNode> product_of(const Graph&, const Node&);

}  // namespace tare
