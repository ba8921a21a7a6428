// Says what changed between two reports.

#include "tare/report.h"

#include "activity.h"
#include "printing/layout.h"
#include "text.h"
#include "verb.h"

namespace tare::cli {
namespace {

constexpr std::size_t kIndent = 4;  // of what does not fit a line

/// "31.2 -> 28.4", "per tensor"
std::string value_text(const Json& value) {
  if (value.is_null()) {
    return "-";
  }
  if (value.is_number_float()) {
    return fmt::format("{:.6g}", value.get<double>());
  }
  return value.is_string() ? printable(value.get<std::string>()) : value.dump();
}

std::string change_text(const Json& change) {
  return value_text(change["from"]) + " -> " + value_text(change["to"]);
}

std::string name_text(const Json& name) {
  return name.is_string() ? shortened(name.get<std::string>()) : value_text(name);
}

void append_names(const char* what, const Json& names, std::string& text) {
  if (!names.empty()) {
    std::string line = fmt::format("  {}:", what);
    for (const Json& name : names) {
      line += ' ';
      line += name_text(name);
    }
    text += wrapped(line, kIndent) + "\n";
  }
}

/// One line for each entry: its name and what is different.
void append_changes(const Json& changed, std::string& text) {
  for (const Json& entry : changed) {
    std::string line = fmt::format("  {}:", name_text(entry["name"]));
    const char* separator = " ";
    for (const auto& [field, change] : entry.items()) {
      if (change.is_object()) {
        line += fmt::format("{}{} {}", separator, field, change_text(change));
        separator = ", ";
      }
    }
    text += wrapped(line, kIndent) + "\n";
  }
}

std::string as_text(const Json& json) {
  std::string text =
      fmt::format("{} -> {}\n", value_text(json["from"]), value_text(json["to"]));
  text += "verdict: " + change_text(json["verdict"]) + "\n";
  if (!json["drop"]["from"].is_null() || !json["drop"]["to"].is_null()) {
    text += "drop of top-1, points: " + change_text(json["drop"]) + "\n";
  }
  text += "outputs\n";
  append_names("new", json["outputs"]["appeared"], text);
  append_names("gone", json["outputs"]["vanished"], text);
  append_changes(json["outputs"]["both"], text);
  for (const char* part : {"layers", "points"}) {
    std::string changes;
    append_names("new", json[part]["appeared"], changes);
    append_names("gone", json[part]["vanished"], changes);
    append_changes(json[part]["changed"], changes);
    text += std::string(part) + (changes.empty() ? ": no change\n" : "\n" + changes);
  }
  for (const auto& [name, field] :
       {std::pair("new", "appeared"), std::pair("gone", "vanished")}) {
    for (const Json& found : json["diagnosis"][field]) {
      text += fmt::format("{} diagnosis: {} at {}\n", name, value_text(found["kind"]),
                          name_text(found["layer"]));
    }
  }
  return text;
}

int run(const Options& options, const Console& console) {
  const std::string difference = during("comparing two reports", [&] {
    return compare_reports(options.text("BEFORE"), options.text("AFTER"));
  });
  console.print(options.has("json") ? difference : as_text(Json::parse(difference)));
  return 0;
}

}  // namespace
}  // namespace tare::cli

TARE_VERB(diff) {
  using namespace tare::cli;
  return {.summary = "show what changed between two reports",
          .arguments = {{"BEFORE", "report: JSON"}, {"AFTER", "report: JSON"}},
          .flags = {},
          .examples = {"tare diff before.json after.json"},
          .run = run};
}
