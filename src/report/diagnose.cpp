#include "tare/diagnose.h"

#include "report/figures.h"
#include "report/findings.h"

#include <algorithm>

namespace tare {
namespace {

/// By two thresholds for what is kept.
Level level_of(double kept, double good, double fair) {
  return kept >= good ? Level::kGood : kept >= fair ? Level::kFair : Level::kPoor;
}

/// Labels and the top class say what counts, whichever looks worse; where there are no classes
/// the error does.
void judge(Report& report) {
  const OutputReport* worst = worst_output(report.outputs);
  if (worst == nullptr) {
    report.verdict = "The network has no outputs.";
    return;
  }
  const double sqnr = sqnr_of(worst->error);
  std::string text = "On " + counted(report.samples, "sample") + " ";
  // 25 dB are errors of 6 %, 15 dB of 18 %.
  report.level = level_of(sqnr, 25, 15);
  if (worst->agreement) {
    report.level = level_of(worst->agreement->share(), 0.95, 0.9);
    text += "the top class is that of the float model for " +
            percent(worst->agreement->share()) + ", ";
  }
  if (report.accuracy && report.accuracy->real.count > 0) {
    // 99 % of the float accuracy is what MLPerf asks for.
    const double kept = report.accuracy->quantized.share() / report.accuracy->real.share();
    report.level = std::max(report.level, level_of(kept, 0.99, 0.97));
    text += "accuracy is " + percent(report.accuracy->quantized.share()) + " against " +
            percent(report.accuracy->real.share()) + ", ";
  }
  text += worst->error.exact  ? "the output is exact"
          : worst->error.sqnr ? "the output has an SQNR of " + decibels(sqnr)
                              : "the error of the output is not defined";
  report.verdict = text + ".";
}

}  // namespace

void diagnose(Report& report) {
  judge(report);
  Findings findings(report);
  for (const auto find :
       {find_infinities, find_masks, find_outlier_channels, find_weight_ranges,
        find_bias_overflow, find_outliers, find_saturation, find_few_levels,
        find_narrow_accumulators, find_lossy_layers}) {
    find(findings);
  }
  report.diagnoses = findings.take();
}

}  // namespace tare
