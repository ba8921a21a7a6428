#pragma once

#include "compare/rounded_values.h"

#include <span>

namespace tare {

/// A spec that asks for the kind of parameters there are.
QuantSpec spec_of(const QuantParams&);

/// Fills in what the values of a point say about its parameters, which are there already.
/// `value` is the one of the float graph that it rounds.
void add_point_facts(const RoundedValues&, std::span<const CalibratorInfo>, const Graph&,
                     ValueId value, PointReport&);

}  // namespace tare
