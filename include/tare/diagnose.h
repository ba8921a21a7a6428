#pragma once

#include "tare/report.h"

namespace tare {

/// Looks through the figures of a report for what users of quantized networks suffer from, and
/// fills in its diagnoses, its level and its verdict. docs/report.md lists the kinds and says
/// why the thresholds are where they are.
void diagnose(Report&);

}  // namespace tare
