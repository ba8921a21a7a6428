// The verdict, and the order in which findings are looked for. What counts is what users count:
// answers where there are labels, the top class where there are scores, and the error
// otherwise. docs/report.md has the thresholds. Good accuracy is what MLPerf asks of quantized
// networks: 99 % of that in float.

#include "report/diagnose.h"

#include "tare/error.h"

#include "report/figures.h"
#include "report/findings.h"

#include <algorithm>

namespace tare {
namespace {

/// What does not show in the results is not severe.
void soften(Report& report) {
  constexpr double kModerate = 0.66;  // that of 14 dB, see severity()
  if (report.level == Level::kGood) {
    for (Diagnosis& found : report.diagnoses) {
      found.severity = std::min(found.severity, kModerate);
    }
  }
}

/// By two thresholds for what is kept.
Level level_of(double kept, double good, double fair) {
  return kept >= good ? Level::kGood : kept >= fair ? Level::kFair : Level::kPoor;
}

/// Of samples, of which a single one is no evidence.
Level level_of(const Proportion& kept, double good, double fair) {
  return kept.count + 1 >= kept.of
             ? Level::kGood
             : level_of(static_cast<double>(kept.count) / static_cast<double>(kept.of), good,
                        fair);
}

std::string_view adjective(EvaluatedOn evaluated_on) {
  switch (evaluated_on) {
    case EvaluatedOn::kCalibration:
      return "calibration ";
    case EvaluatedOn::kHeldOut:
      return "held-out ";
    case EvaluatedOn::kGiven:
      break;
  }
  return "";
}

/// Labels and the top class say what counts, whichever looks worse; where there are no classes
/// the error does.
void decide_verdict(Report& report) {
  const OutputReport* worst = worst_output(report.outputs);
  if (worst == nullptr) {
    report.verdict = "The network has no outputs.";
    return;
  }
  const double sqnr = sqnr_of(worst->error);
  std::string text =
      "On " + counted(report.samples, std::string(adjective(report.evaluated_on)) + "sample") +
      " ";
  // 25 dB are errors of 6 %, 15 dB of 18 %.
  report.level = level_of(sqnr, 25, 15);
  if (worst->agreement) {
    report.level = level_of(*worst->agreement, 0.95, 0.9);
    text += "the top class is that of the float model for " +
            percent(worst->agreement->share()) + ", ";
  }
  if (report.accuracy && report.accuracy->real.count > 0) {
    // 99 % of the float accuracy is what MLPerf asks for.
    // Right answers of those that the float network has right.
    const Proportion kept{report.accuracy->quantized.count, report.accuracy->real.count};
    report.level = std::max(report.level, level_of(kept, 0.99, 0.97));
    text += "accuracy is " + percent(report.accuracy->quantized.share()) + " against " +
            percent(report.accuracy->real.share()) + ", ";
  }
  text += worst->error.exact  ? "the output is exact"
          : worst->error.sqnr ? "the output has an SQNR of " + decibels(sqnr)
                              : "the error of the output is not defined";
  report.verdict = text + ".";
  if (!report.input_warnings.empty()) {
    report.level = std::max(report.level, Level::kFair);
    report.verdict += " The samples look wrongly prepared, and then this does not count.";
  }
}

}  // namespace

void diagnose(Report& report) {
  decide_verdict(report);
  Findings findings(report);
  for (const auto find :
       {find_wrong_inputs, find_infinities, find_masks, find_outlier_channels,
        find_weight_ranges, find_bias_overflow, find_outliers, find_saturation, find_few_levels,
        find_narrow_accumulators, find_lossy_layers}) {
    find(findings);
  }
  report.diagnoses = findings.take();
  propose_worst_layers(report);
  soften(report);
}

void add_findings(std::span<const FindingInfo> findings, Report& report) {
  for (const FindingInfo& info : findings) {
    for (Diagnosis& found : info.find(report)) {
      found.kind = found.kind.empty() ? std::string(info.name) : std::move(found.kind);
      if (!(found.severity >= 0 && found.severity <= 1)) {
        throw Error(ErrorCode::kInvalidConfig, info.plugin,
                    "finding '" + std::string(info.name) + "' has a severity of " +
                        std::to_string(found.severity))
            .expected("a number from 0 to 1");
      }
      report.diagnoses.push_back(std::move(found));
    }
  }
  soften(report);
  std::stable_sort(
      report.diagnoses.begin(), report.diagnoses.end(),
      [](const Diagnosis& a, const Diagnosis& b) { return a.severity > b.severity; });
}

}  // namespace tare
