#pragma once

#include "tare/node.h"

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

namespace tare {

/// Columns of sums of products: bias + source * matrix + other source * other matrix + ...
struct LinearForm {
  std::vector<double> bias;                         ///< one for each column
  std::map<ValueId, std::vector<double>> products;  ///< [columns, inputs] of each source
};

/// The columns [first, first + count) of the last axis of a value as sums of products of values
/// that are none, with constant matrices; nothing where a part of it is not that.
std::optional<LinearForm> linear_form(const Graph&, ValueId, std::size_t first,
                                      std::size_t count);
/// All columns.
std::optional<LinearForm> linear_form(const Graph&, ValueId);

}  // namespace tare
