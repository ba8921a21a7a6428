#pragma once

#include "tare/compare.h"

#include "compare/rounded_values.h"

#include <string>

namespace tare {

/// What the values of a point say about its parameters. Calibrator and layer are left empty.
PointReport point_facts(const std::string& name, const QuantParams&, const RoundedValues&,
                        std::span<const CalibratorInfo>);

}  // namespace tare
