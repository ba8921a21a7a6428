#pragma once

#include "tare/report.h"

#include "report/report_json.h"

#include <optional>
#include <string>
#include <vector>

namespace tare {

/// What conditions say of reports that were parsed already. Throws as ReportCondition::met_by()
/// does.
class ConditionEvaluator {
 public:
  static std::optional<std::string> reason(const ReportCondition&, const Json& report);
  /// Of those that hold.
  static std::vector<std::string> reasons(const std::vector<ReportCondition>&,
                                          const Json& report);
};

}  // namespace tare
