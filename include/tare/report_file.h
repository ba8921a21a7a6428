#pragma once

#include "tare/report.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace tare {

/// The report as JSON; docs/report.md has its schema. Equal reports give equal bytes. What is
/// not defined, or not finite, is null.
std::string report_json(const Report&);
/// One row for each layer, with a head.
std::string report_csv(const Report&);

enum class ReportFormat : std::uint8_t {
  kJson,
  kCsv,
  kHtml,  ///< one page that needs no other file
};

/// What the file's name asks for: .json, .csv or .html. Throws Error(kInvalidConfig) for other
/// names.
ReportFormat report_format(const std::filesystem::path&);
/// Written under a temporary name and renamed. Throws Error(kIo).
void write_report(const std::filesystem::path&, const Report&, ReportFormat);

/// What changed between two reports in JSON: outputs, layers that got better or worse by 0.1 dB
/// or more, parameters, and what appeared and vanished. JSON too; docs/report.md describes it.
/// Throws Error(kIo), and Error(kInvalidData) for files that hold something else.
std::string compare_reports(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace tare
