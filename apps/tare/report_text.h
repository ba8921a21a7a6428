#pragma once

#include "tare/report.h"

#include <string>

namespace tare::cli {

/// The report in short: verdict, outputs, the ten worst layers, advice.
std::string report_text(const Report&);

}  // namespace tare::cli
