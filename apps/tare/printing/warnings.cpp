#include "printing/warnings.h"

#include "printing/layout.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>

namespace tare::cli {

namespace {

/// Kinds that are about all results, in the order in which they are said; others follow.
constexpr std::array<std::string_view, 5> kFirst{"input_preparation", "unnormalized_input",
                                                 "already_quantized", "few_samples",
                                                 "repeated_samples"};
/// What is most often no mistake.
constexpr std::string_view kLast = "dead_channels";

std::size_t rank(const Warning& warning) {
  const auto* found = std::find(kFirst.begin(), kFirst.end(), warning.kind);
  const auto place = static_cast<std::size_t>(found - kFirst.begin());
  return warning.kind == kLast ? kFirst.size() + 1 : place;
}

std::string line_of(const Warning& warning, const Terminal& terminal) {
  const std::size_t names = terminal.name_columns();
  return terminal.styled(Style::kWarning, "tare: warning:") + " " +
         with_short_names(warning.where, names) + ": " + with_short_names(warning.what, names);
}

}  // namespace

void say_warnings(std::vector<Warning> warnings, const Console& console) {
  const Terminal& terminal = console.err();
  std::stable_sort(warnings.begin(), warnings.end(), [](const Warning& a, const Warning& b) {
    return std::tuple(rank(a), std::string_view(a.kind)) <
           std::tuple(rank(b), std::string_view(b.kind));
  });
  for (auto first = warnings.begin(); first != warnings.end();) {
    const auto last = std::find_if(first, warnings.end(),
                                   [&](const Warning& w) { return w.kind != first->kind; });
    std::string line = line_of(*first, terminal);
    if (last - first > 1) {
      line += fmt::format(" (and {} more like this, which --json lists)", last - first - 1);
    }
    console.warn(wrapped(line, 2, terminal.columns) + "\n");
    first = last;
  }
}

void say_each(const std::vector<Warning>& warnings, const Console& console) {
  const Terminal& terminal = console.err();
  for (const Warning& warning : warnings) {
    console.warn(wrapped(line_of(warning, terminal), 2, terminal.columns) + "\n");
  }
}

void say_failure(const std::string& reason, const Console& console) {
  const Terminal& terminal = console.err();
  console.say(wrapped(terminal.styled(Style::kError, "tare: failed:") + " " +
                          with_short_names(reason, terminal.name_columns()),
                      2, terminal.columns) +
              "\n");
}

Json warnings_json(const std::vector<Warning>& warnings) {
  Json json = Json::array();
  for (const Warning& warning : warnings) {
    json.push_back({{"kind", warning.kind}, {"where", warning.where}, {"what", warning.what}});
  }
  return json;
}

}  // namespace tare::cli
