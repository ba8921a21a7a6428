#pragma once

#include "tare/report.h"

#include <optional>
#include <string>

namespace tare {

/// A condition on the fields of a report, such as 'output.sqnr<30':
///
///   condition = value ("<" | "<=" | ">" | ">=" | "==" | "!=") number
///   value     = path | ("min" | "max") "(" path ")"
///   path      = metric | field ("." field | "[" name or index "]")...
///
/// A metric is one of those that measured the results, by its whole name. An entry of a list is
/// chosen by its name or its index; min and max go over all entries of the lists on the way
/// that nothing is chosen of.
class ReportCondition {
 public:
  /// Throws Error(kInvalidConfig) unless the text reads like that.
  explicit ReportCondition(const std::string& text);

  /// The condition that holds where this one does not.
  ReportCondition negated() const;

  /// Throws Error(kInvalidConfig), with the nearest name there is, where reports have no such
  /// field and `known` no such metric; where `known` has layers, points or outputs, also when
  /// it names others than those.
  void check(const Report& known = {}) const;

  /// Why the condition holds for a report (as report_json() writes it); nothing when it does
  /// not. An exact result has an infinite SQNR. A value that is not defined meets every
  /// condition: what cannot be measured must not pass. Throws Error(kInvalidConfig) as
  /// check() does.
  std::optional<std::string> met_by(const std::string& report) const;

 private:
  enum class Over { kOne, kMin, kMax };

  std::string text_;
  Over over_ = Over::kOne;
  std::string path_;
  std::string comparison_;
  double bound_ = 0;
};

}  // namespace tare
