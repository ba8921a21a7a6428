#pragma once

#include <string>

namespace tare {

/// The page that shows a report: one HTML file that needs no other and asks for none. `json` is
/// the report as docs/report.md describes it; it stands in the page as data, whatever its names
/// hold.
std::string html_report(const std::string& json);

}  // namespace tare
