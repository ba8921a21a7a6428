#pragma once

#include "tare/simulate.h"

#include "simulate/settings.h"

#include <span>
#include <string>
#include <vector>

namespace tare {

/// Where a region runs on integers, or why it does not.
struct Placement {
  bool on_integers = true;
  std::string reason;  ///< empty on integers
};

/// For each region of a graph, so that the target takes the least time in all, conversions
/// between integers and floats included: a minimum cut. Layers that the target gives no cost
/// for, and all layers with weights under Objective::kSize, run on integers.
std::vector<Placement> place(const Graph&, const Settings&, std::span<const Region>);

}  // namespace tare
