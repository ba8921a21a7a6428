#pragma once

#include "tare/calibrator.h"

#include "calibrate/accumulators.h"

#include <map>
#include <string>
#include <vector>

namespace tare {

/// A table in the making.
struct TableDraft {
  QuantTable table;
  /// By name of the point, where its calibrator is one that tries others: what each of these
  /// made of it. The table holds the first.
  std::map<std::string, std::vector<PointResult>> candidates;
  InputMeans means;

  /// `results` of one point, which must not be empty.
  void add(const std::string& point, std::vector<PointResult> results);
};

/// The table with those candidates that together serve the results of the network best, on up
/// to 128 samples spread over the data. Starts with the one calibrator that is best for all
/// points, then exchanges candidates point by point (in large networks, a few neighbours at
/// once) as long as the squared error of the results falls. A Softmax that ends the network is
/// left out: where it saturates it would hide errors, and few undecided samples would decide.
QuantTable settle(const SimulatedGraph&, TableDraft, const Dataset&, const CalibrateOptions&);

}  // namespace tare
