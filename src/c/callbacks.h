#pragma once

#include "tare/c.h"
#include "tare/calibrator.h"
#include "tare/report.h"

#include <string>

namespace tare::c {

/// A calibrator of the caller. The name has to outlive it.
CalibratorInfo calibrator_of(const tare_calibrator&, const std::string& name);

/// A metric of the caller, the mean over the samples.
MetricInfo metric_of(const tare_metric&, const std::string& name);

}  // namespace tare::c
