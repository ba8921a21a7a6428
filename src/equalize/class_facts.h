#pragma once

#include "tare/simulate.h"
#include "tare/statistics.h"

#include "equalize/channel_classes.h"

#include <vector>

namespace tare {

/// What is known of a class of channels.
struct ClassFacts {
  /// The largest part of a point's range that any of its values needs; 0: no point has any.
  double range = 0;
  /// The largest part that its weights have of the range of a scale that they share with those
  /// of other channels; 0: they share none.
  double weights = 0;
  /// A range is the user's, which is of real values.
  bool is_fixed = false;
};

/// Of each class of the channels of simulated.source. The statistics are of that network.
std::vector<ClassFacts> class_facts(const SimulatedGraph&, const Statistics&,
                                    const ChannelClasses&);

}  // namespace tare
