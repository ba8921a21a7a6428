#pragma once

#include "tare/report.h"

#include <string>
#include <vector>

namespace tare {

/// "28.4 dB"
std::string decibels(double sqnr);
/// Three significant digits: "0.0123", "45.6", "1230".
std::string brief(double value);
/// "0.012 %" of a share in [0,1]; "100 %" is all.
std::string percent(double share);
/// "1 channel", "2 channels"
std::string counted(std::size_t count, const std::string& noun);

/// SQNR for comparisons: infinite where it is exact, negative infinite where it is not defined.
double sqnr_of(const Deviation&);

/// The output of least SQNR, or null.
const OutputReport* worst_output(const std::vector<OutputReport>&);
/// Of all outputs of a report, as report_json() writes it; infinite where all are exact.
double least_sqnr(const std::string& report);

}  // namespace tare
