#pragma once

#include "tare/report.h"

namespace tare {

/// Looks through the figures of a report for what users of quantized networks suffer from, and
/// fills in its diagnoses, its level and its verdict. docs/report.md lists the kinds and says
/// why the thresholds are where they are.
void diagnose(Report&);

/// Where the verdict is not good and no finding proposes a configuration: that of the layers
/// that lose most in float or, where that was tried and does not help, a search. diagnose()
/// does so; it is for those who withdraw proposals later.
void propose_worst_layers(Report&);

}  // namespace tare
