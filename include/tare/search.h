#pragma once

#include "tare/calibrator.h"
#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/simulate.h"

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>

namespace tare {

/// By name of the point.
using PointErrors = std::map<std::string, double>;

/// Errors of points that an earlier search measured, and who hears of more.
struct MeasuredErrors {
  PointErrors known{};
  /// Called with all that are known each time that there are more; may be empty. What it throws
  /// ends the work.
  std::function<void(const PointErrors&)> more{};
};

/// What each of some activations and weights does to the results of the network while nothing
/// else is quantized, on `samples` samples spread over the data: the squared error over the
/// squared magnitude. The errors of several add up, nearly.
PointErrors point_errors(const SimulatedGraph&, const QuantTable&,
                         const std::set<std::string>& points, const Dataset&,
                         const CalibrateOptions&, std::size_t samples,
                         const MeasuredErrors& = {});

/// Points of regions each of which the target can leave in float for at most `slowdown` (0.03:
/// 3
/// %) of the time that it takes for the whole where nothing else counts. None where the
/// objective is not latency.
std::set<std::string> affordable_points(const SimulatedGraph&, const Config&,
                                        std::span<const QuantPattern>, double slowdown);

/// One way to share a network out between integers and floats.
struct Tradeoff {
  std::set<std::string> float_nodes;  ///< that would run on integers if time alone counted
  double nanoseconds = 0;             ///< as in Assignment
  double error = 0;                   ///< the sum of those of the points that are quantized
  double integer_share = 0;           ///< of the multiplications

  friend bool operator==(const Tradeoff&, const Tradeoff&) = default;
};

/// The best ways for whatever time is worth, the fastest first: each next one is slower and
/// errs less, and none is between two of them for less time and error than what a mixture of
/// both would have (the lower hull of all there are). At most `slowdown` slower than the first.
/// Only that one where the objective is not latency. Of simulated.source with the errors of its
/// points.
std::vector<Tradeoff> best_tradeoffs(const SimulatedGraph&, const Config&,
                                     std::span<const QuantPattern>, const PointErrors&,
                                     double slowdown);

/// The one to take when that much time may be spent: the last corner of that hull, and beside
/// it one point after the other, or all of one region, left exact as long as that fits into the
/// time, each time what the error falls most by. Corners lie apart, and time would stay
/// unspent.
Tradeoff best_within(const SimulatedGraph&, const Config&, std::span<const QuantPattern>,
                     const PointErrors&, double slowdown);

}  // namespace tare
