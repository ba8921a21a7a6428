#pragma once

#include "tare/node.h"

#include <map>
#include <optional>
#include <vector>

namespace tare {

/// Columns of sums of products: bias + source * matrix + other source * other matrix + ...
struct LinearForm {
  std::vector<double> bias;                         ///< one for each column
  std::map<ValueId, std::vector<double>> products;  ///< [columns, inputs] of each source
};

/// A value as sums of products of values that are none, with constant matrices; its last axis
/// are the columns. Nothing where a part of it is not that.
std::optional<LinearForm> linear_form(const Graph&, ValueId);

}  // namespace tare
