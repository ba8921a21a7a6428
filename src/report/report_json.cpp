#include "report/report_json.h"

#include "tare/error.h"

namespace tare {
namespace {

Error no_report(const std::string& where, const std::string& what) {
  return Error(ErrorCode::kInvalidData, where, what)
      .expected("a report as 'tare compare --json' writes it");
}

/// Entries have names, and are told apart by them.
void require_entries(const Json& report, const char* list, const std::string& where) {
  const auto found = report.find(list);
  if (found == report.end() || !found->is_array()) {
    throw no_report(where, std::string("has no list '") + list + "'");
  }
  for (const Json& entry : *found) {
    if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string()) {
      throw no_report(where, std::string("has an entry of '") + list + "' without a name");
    }
  }
}

}  // namespace

Json parse_report(const std::string& text, const std::string& where) {
  Json report = Json::parse(text, nullptr, false);
  if (report.is_discarded()) {
    throw no_report(where, "is no JSON");
  }
  if (!report.is_object() || !report.contains("format") || report["format"] != "tare-report") {
    throw no_report(where, "is no report");
  }
  if (!report.contains("version") || report["version"] != 1) {
    throw no_report(where, "is a report of another version");
  }
  for (const char* list : {"outputs", "layers", "points"}) {
    require_entries(report, list, where);
  }
  return report;
}

std::string to_text(const Json& json) {
  return json_escaped(json.dump(1, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace tare
