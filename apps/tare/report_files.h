#pragma once

#include "tare/report.h"

#include "flags.h"
#include "outputs.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace tare {
struct Toolkit;
}

namespace tare::cli {

/// --report FILE, by its suffix HTML, JSON or CSV.
Flag report_flag();

/// A report of which no more is known than the metrics that will be in it.
Report empty_report(const Toolkit&);

/// The files that a report goes to: --report, and --json and --csv where they take files, and
/// --overlay.
class ReportFiles {
 public:
  /// Adds them to those that the command writes.
  ReportFiles(const Options&, CommandFiles&);

  bool empty() const { return files_.empty(); }
  std::vector<std::filesystem::path> paths() const;
  void write(const Report&) const;

 private:
  std::vector<std::pair<std::string, ReportFormat>> files_;
};

/// Says in the report what was compared.
void name_files(const std::string& real, const std::string& quantized, const std::string& data,
                Report&);

}  // namespace tare::cli
