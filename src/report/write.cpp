#include "tare/error.h"
#include "tare/report.h"

#include "base/output_file.h"
#include "report/html.h"

namespace tare {

ReportFormat report_format(const std::filesystem::path& path) {
  const std::string suffix = path.extension().string();
  if (suffix == ".json") {
    return ReportFormat::kJson;
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
  const std::string text = format == ReportFormat::kCsv    ? report_csv(report)
                           : format == ReportFormat::kJson ? report_json(report)
                                                           : html_report(report_json(report));
  OutputFile file(path);
  file.append(text);
  file.commit();
}

}  // namespace tare
