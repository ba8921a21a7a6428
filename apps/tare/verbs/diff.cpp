// Says what changed between two reports.

#include "tare/report.h"

#include "activity.h"
#include "printing/layout.h"
#include "text.h"
#include "verb.h"

namespace tare::cli {
namespace {

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

/// The text of a difference, line by line.
class Listing {
 public:
  explicit Listing(const Terminal& terminal) : terminal_(terminal) {}

  const std::string& text() const { return text_; }

  void add(const Listing& other) { text_ += other.text_; }
  void line(const std::string& words) { text_ += words + "\n"; }
  void heading(const std::string& words) { line(terminal_.styled(Style::kHeading, words)); }

  void names(const char* what, const Json& all) {
    if (!all.empty()) {
      std::string line = fmt::format("  {}:", what);
      for (const Json& each : all) {
        line += " " + name(each);
      }
      broken(line);
    }
  }

  /// One line for each entry: its name and what is different.
  void changes(const Json& changed) {
    for (const Json& entry : changed) {
      std::string line = fmt::format("  {}:", name(entry["name"]));
      const char* separator = " ";
      for (const auto& [field, change] : entry.items()) {
        if (change.is_object()) {
          line += fmt::format("{}{} {}", separator, field, change_text(change));
          separator = ", ";
        }
      }
      broken(line);
    }
  }

  std::string name(const Json& name) const {
    return name.is_string() ? shortened(name.get<std::string>(), terminal_.name_columns())
                            : value_text(name);
  }

 private:
  void broken(const std::string& words) {
    constexpr std::size_t kIndent = 4;
    line(wrapped(words, kIndent, terminal_.columns));
  }

  const Terminal& terminal_;
  std::string text_;
};

std::string difference_text(const Json& json, const Terminal& terminal) {
  Listing listing(terminal);
  listing.heading(value_text(json["from"]) + " -> " + value_text(json["to"]));
  listing.line("verdict: " + change_text(json["verdict"]));
  if (!json["drop"]["from"].is_null() || !json["drop"]["to"].is_null()) {
    listing.line("drop of top-1, points: " + change_text(json["drop"]));
  }
  listing.heading("outputs");
  listing.names("new", json["outputs"]["appeared"]);
  listing.names("gone", json["outputs"]["vanished"]);
  listing.changes(json["outputs"]["both"]);
  for (const char* part : {"layers", "points"}) {
    Listing changes(terminal);
    changes.names("new", json[part]["appeared"]);
    changes.names("gone", json[part]["vanished"]);
    changes.changes(json[part]["changed"]);
    listing.heading(part + std::string(changes.text().empty() ? ": no change" : ""));
    listing.add(changes);
  }
  for (const auto& [name, field] :
       {std::pair("new", "appeared"), std::pair("gone", "vanished")}) {
    for (const Json& found : json["diagnosis"][field]) {
      listing.line(fmt::format("{} diagnosis: {} at {}", name, value_text(found["kind"]),
                               listing.name(found["layer"])));
    }
  }
  return listing.text();
}

int run_diff(const Options& options, const Console& console) {
  const std::string difference = during("comparing two reports", [&] {
    return compare_reports(options.text("BEFORE"), options.text("AFTER"));
  });
  console.print(options.has("json") ? difference
                                    : difference_text(Json::parse(difference), console.out()));
  return 0;
}

}  // namespace
}  // namespace tare::cli

TARE_VERB(diff) {
  using namespace tare::cli;
  return {.task = Task::kEvaluate,
          .summary = "show what changed between two reports",
          .arguments = {{"BEFORE", "report: JSON"}, {"AFTER", "report: JSON"}},
          .flags = {},
          .examples = {"tare diff before.json after.json"},
          .run = run_diff};
}
