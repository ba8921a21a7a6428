#pragma once

#include "tare/quant_table.h"

#include "calibrate/rounding/accumulators.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tare {

/// What was decided with one level.
struct LevelDecisions {
  QuantTable table;  ///< points that were decided or changed
  std::map<std::string, std::vector<PointResult>> candidates;
  InputMeans means;
  std::vector<Warning> warnings;
};

/// The decisions of the sequential schedule in the order in which they are made. Those of an
/// earlier run come out one by one, and then new ones are added behind them.
class LevelJournal {
 public:
  virtual ~LevelJournal() = default;
  /// The next ones of an earlier run; nothing where it came no further.
  virtual std::optional<LevelDecisions> next() = 0;
  virtual void add(const LevelDecisions&) = 0;
};

}  // namespace tare
