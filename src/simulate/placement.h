#pragma once

#include "tare/simulate.h"

#include "simulate/settings.h"

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace tare {

/// Where a region runs on integers, or why it does not.
struct Placement {
  bool on_integers = true;
  std::string reason{};  ///< empty on integers; this and the next as in KeptFloat
  std::string detail{};
};

struct Placements {
  std::vector<Placement> regions;
  double nanoseconds = 0;  ///< of what has a choice, conversions included, as the target says
  std::set<std::string> quantized;  ///< of what has a price
};

/// For each region of a graph, so that the target takes the least time in all, conversions
/// between integers and floats included: a minimum cut. Layers that the target gives no cost
/// for, and all layers with weights under Objective::kSize, run on integers. `prices`, by name
/// of a value or weight, are nanoseconds that are paid in addition, but not counted, where it
/// is quantized.
Placements place(const Graph&, const Settings&, std::span<const Region>,
                 const std::map<std::string, double>& prices = {});

/// What the target takes for all that may be either where these regions run on integers and the
/// others in float, conversions included, and nothing else does where none of them do. By the
/// same costs.
double predicted_nanoseconds(const Graph&, const Settings&, std::span<const Region>,
                             const std::vector<bool>& on_integers);

}  // namespace tare
