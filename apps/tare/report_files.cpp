#include "report_files.h"

#include "tare/model_files.h"
#include "tare/report.h"
#include "tare/toolkit.h"

namespace tare::cli {

Flag report_flag() {
  return {.name = "report",
          .value = "FILE",
          .summary = "report of the errors, layer by layer: .html, .json or .csv",
          .repeated = true};
}

Report empty_report(const Toolkit& toolkit) {
  Report report;
  for (const MetricInfo& metric : toolkit.metrics) {
    report.metrics.push_back({std::string(metric.name), std::nullopt});
  }
  return report;
}

ReportFiles::ReportFiles(const Options& options, CommandFiles& files) {
  for (const std::string& path : options.all("report")) {
    files_.emplace_back(path, report_format(path));
  }
  const std::string& json = options.text("json");
  if (!json.empty() && json != "-") {
    files_.emplace_back(json, ReportFormat::kJson);
  }
  if (options.has("csv")) {
    files_.emplace_back(options.text("csv"), ReportFormat::kCsv);
  }
  if (options.has("overlay")) {
    files_.emplace_back(options.text("overlay"), ReportFormat::kOverlay);
  }
  for (const auto& [path, format] : files_) {
    files.writes(path, Content::kReport);
  }
}

std::vector<std::filesystem::path> ReportFiles::paths() const {
  std::vector<std::filesystem::path> result;
  for (const auto& [path, format] : files_) {
    result.emplace_back(path);
  }
  return result;
}

void ReportFiles::write(const Report& report) const {
  for (const auto& [path, format] : files_) {
    write_report(path, report, format);
  }
}

void name_files(const std::string& real, const std::string& quantized, const std::string& data,
                Report& report) {
  const auto name = [](const std::string& path, ModelFacts& facts) {
    facts.file = path;
    facts.bytes = stored_bytes(path);
  };
  name(real, report.real);
  name(quantized, report.quantized);
  report.data = data;
}

}  // namespace tare::cli
