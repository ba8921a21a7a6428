#pragma once

#include "tare/report.h"

#include <filesystem>
#include <string>

namespace tare {

/// The report as JSON; docs/report.md has its schema. Equal reports give equal bytes. What is
/// not defined, or not finite, is null.
std::string report_json(const Report&);
/// One row for each layer, with a head.
std::string report_csv(const Report&);

}  // namespace tare
