#pragma once

#include "fuzz/drawing.h"

#include <optional>

namespace tare::fuzz {

/// A layer that reads some value: a product, an operator on images, on pairs of values, one
/// that moves elements, or a function of each element. Nothing where that value does not fit.
std::optional<ValueId> any_layer(Drawing&);
/// One that reads this value.
std::optional<ValueId> any_layer(Drawing&, ValueId);

/// A function of each element.
ValueId any_function(Drawing&, ValueId);

/// A product along the last axis with constants, with that many results.
std::optional<ValueId> product_with(Drawing&, ValueId, std::int64_t results);

}  // namespace tare::fuzz
