#pragma once

#include "tare/calibrator.h"

#include "calibrate/accumulators.h"

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace tare {

/// A table in the making.
struct TableDraft {
  std::size_t lead = 0;  ///< the candidate that stands in the table where there are some
  QuantTable table;
  /// By name of the point, where its calibrator is one that tries others: what each of these
  /// made of it.
  std::map<std::string, std::vector<PointResult>> candidates{};
  InputMeans means{};

  /// `results` of one point, which must not be empty.
  void add(const std::string& point, std::vector<PointResult> results);
};

/// Decides all points, with that candidate in the lead.
using MakeDraft =
    std::function<TableDraft(std::size_t lead, const CalibrateOptions&, CalibrationAudit*)>;

/// How many candidates there are to lead a draft: 1 where no calibrator tries others.
std::size_t count_leads(const SimulatedGraph&, std::span<const CalibratorInfo>);

/// Where no calibrator tries others, the table of the one draft. Otherwise that with those
/// candidates that serve the results of the network best, on some of the samples:
/// 1. of the drafts that each calibrator leads, the best;
/// 2. one with the candidate for each point that does least harm when it is the only one
///    quantized, since errors of different points mostly add up; if that is better;
/// 3. then candidates are exchanged where the results get clearly better (in large networks,
///    those of a few neighbours at once), since some errors do not add up.
/// docs/decisions/0026-auto-counts-errors-as-they-are.md says how samples judge.
QuantTable settle(const SimulatedGraph&, std::span<const CalibratorInfo>, const Dataset&,
                  const CalibrateOptions&, CalibrationAudit*, const MakeDraft&);

}  // namespace tare
