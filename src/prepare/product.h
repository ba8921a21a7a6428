#pragma once

#include "tare/node.h"

#include <optional>
#include <vector>

namespace tare {

/// A tree of Mul, Div by a constant, Neg and small powers, flattened: the order in which an
/// exporter multiplied does not show.
struct Product {
  double coefficient = 1;        ///< of all uniform constants
  std::vector<ValueId> factors;  ///< sorted; a square occurs twice

  /// The other factor when there are two of which `one` is one.
  std::optional<ValueId> partner_of(ValueId one) const;
};

/// `value` as a product. Below `value` itself, only nodes with a single reader are looked into,
/// because the others are needed as they are. A value that is no product is its own only
/// factor.
Product product_of(const Graph&, ValueId);

/// The node that computes the value when it has that operator, or null.
const Node* computed_by(const Graph&, ValueId, std::string_view op);

/// x and c where the value is x + c with a uniform constant.
struct Offset {
  ValueId value;
  double constant = 0;
};
std::optional<Offset> offset_of(const Graph&, ValueId);

}  // namespace tare
