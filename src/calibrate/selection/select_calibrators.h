#pragma once

#include "tare/calibrator.h"
#include "tare/dataset.h"
#include "tare/statistics.h"

#include "calibrate/rounding/accumulators.h"

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace tare {

/// A table with the candidates of each of its points.
struct CandidateTable {
  std::size_t primary = 0;  ///< index of the candidate that is in the table
  QuantTable table;
  /// By name of the point, where its calibrator is one that tries others: what each of these
  /// made of it.
  std::map<std::string, std::vector<PointResult>> candidates{};
  InputMeans means{};

  /// `results` of one point, which must not be empty.
  void add(const std::string& point, std::vector<PointResult> results);
};

/// Decides all points, with that primary candidate.
using MakeCandidateTable = std::function<CandidateTable(
    std::size_t primary, const CalibrateOptions&, CalibrationAudit*)>;

/// How many primary candidates there are: 1 where no calibrator tries others.
std::size_t count_primary_candidates(const SimulatedGraph&, std::span<const CalibratorInfo>);

/// A network that would exceed both is a large one, see select_calibrators().
struct SelectionLimits {
  double multiplications = 8e12;  ///< a matter of few minutes
  double runs = 60;               ///< of each sample
};

/// Where no calibrator tries others, the only candidate table. Otherwise the one with the least
/// error of the network's results on some of the samples:
/// 1. the best of the tables that each candidate is primary in;
/// 2. one with the least sensitive candidate for each point, quantized alone, since errors of
///    different points mostly add up; if that is better;
/// 3. then candidates are exchanged where the results get clearly better (in large networks,
///    those of a few neighbours at once), since some errors do not add up.
/// Where all of that would exceed both limits, only the first candidate has a table of its own,
/// and the one that does best in it for all points; then candidates are exchanged in as many
/// groups as take about as long as these tables.
/// docs/decisions/0026-auto-counts-errors-as-they-are.md says why.
QuantTable select_calibrators(const SimulatedGraph&, std::span<const CalibratorInfo>,
                              const Dataset&, const CalibrateOptions&, CalibrationAudit*,
                              const MakeCandidateTable&, const SelectionLimits& = {});

}  // namespace tare
