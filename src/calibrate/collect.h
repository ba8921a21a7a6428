#pragma once

#include "tare/statistics.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

namespace tare {

/// The observer of a value of the source graph, or null.
using MakeObserver = std::function<std::unique_ptr<TensorObserver>(ValueId)>;

struct Collected {
  Statistics statistics;
  std::map<std::string, std::unique_ptr<TensorObserver>> tensors;  ///< by name of the value
};

/// collect(), with the values also shown to observers.
Collected collect_observing(const SimulatedGraph&, const Dataset&, const CalibrateOptions&,
                            Statistics so_far, const MakeObserver&, CalibrationAudit*);

}  // namespace tare
