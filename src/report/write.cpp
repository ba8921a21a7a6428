#include "tare/error.h"
#include "tare/report.h"

#include "base/output_file.h"
#include "report/html.h"

namespace tare {
namespace {

std::string text_of(const Report& report, ReportFormat format) {
  switch (format) {
    case ReportFormat::kCsv:
      return report_csv(report);
    case ReportFormat::kJson:
      return report_json(report);
    case ReportFormat::kOverlay:
      return report_overlay(report);
    case ReportFormat::kHtml:
      break;
  }
  return html_report(report_json(report));
}

}  // namespace

ReportFormat report_format(const std::filesystem::path& path) {
  const std::string suffix = path.extension().string();
  if (suffix == ".json") {
    return path.stem().extension() == ".overlay" ? ReportFormat::kOverlay : ReportFormat::kJson;
  }
  if (suffix == ".csv") {
    return ReportFormat::kCsv;
  }
  if (suffix == ".html") {
    return ReportFormat::kHtml;
  }
  throw Error(ErrorCode::kInvalidConfig, path.string(), "has no report format")
      .expected("a name that ends in .html, .json or .csv");
}

void write_report(const std::filesystem::path& path, const Report& report,
                  ReportFormat format) {
  OutputFile file(path);
  file.append(text_of(report, format));
  file.commit();
}

}  // namespace tare
