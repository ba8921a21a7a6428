#pragma once

#include "tare/calibrator.h"

#include "calibrate/channel_sums.h"

#include <map>
#include <vector>

namespace tare {

/// What to look at while the data passes. A value may be in both lists.
struct Watch {
  std::vector<ValueId> summaries;
  std::vector<ValueId> channel_sums;
};

struct Observation {
  std::map<ValueId, Summary> summaries;
  std::map<ValueId, ChannelSums> channel_sums;
};

/// Runs the graph over the data once. The result does not depend on the number of threads.
Observation observe(const Graph&, const Watch&, const Dataset&, const CalibrateOptions&);

}  // namespace tare
