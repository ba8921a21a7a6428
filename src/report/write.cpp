#include "tare/error.h"
#include "tare/report_file.h"

#include "base/files.h"
#include "report/html.h"

#include <cerrno>
#include <fstream>
#include <system_error>

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
  throw Error(ErrorCode::kInvalidConfig, path.string(), "is no kind of report")
      .expected("a name that ends in .html, .json or .csv");
}

void write_report(const std::filesystem::path& path, const Report& report,
                  ReportFormat format) {
  const std::string text = format == ReportFormat::kCsv    ? report_csv(report)
                           : format == ReportFormat::kJson ? report_json(report)
                                                           : html_report(report_json(report));
  OutputFile file(path);
  {
    std::ofstream stream(file.temporary(), std::ios::binary);
    stream << text;
    stream.close();
    if (!stream) {
      throw Error(ErrorCode::kIo, path.string(),
                  "cannot be written: " + std::generic_category().message(errno));
    }
  }
  file.commit();
}

}  // namespace tare
