#pragma once

#include "tare/pattern.h"

#include <vector>

namespace tare {

/// All of src/prepare/rules, in file order. Benefits tell the phases apart:
/// 100 constants and what does nothing; 90 one spelling for each operator; 80 operators that
/// exporters split up; 70 merging neighbours; 50 folding into convolutions and products.
const std::vector<RewriteRule>& prepare_rules();

}  // namespace tare
