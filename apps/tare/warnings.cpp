#include "warnings.h"

#include <algorithm>

namespace tare::cli {

void say_warnings(std::vector<Warning> warnings, const Console& console) {
  constexpr std::ptrdiff_t kShown = 10;
  std::stable_sort(warnings.begin(), warnings.end(),
                   [](const Warning& a, const Warning& b) { return a.kind < b.kind; });
  for (auto first = warnings.begin(); first != warnings.end();) {
    const auto last = std::find_if(first, warnings.end(),
                                   [&](const Warning& w) { return w.kind != first->kind; });
    for (auto warning = first; warning != first + std::min(kShown, last - first); ++warning) {
      console.say(
          fmt::format("tare: warning: {}\n", printable(warning->where + ": " + warning->what)));
    }
    if (last - first > kShown) {
      console.say(fmt::format("tare: warning: ... and {} more\n", last - first - kShown));
    }
    first = last;
  }
}

Json warnings_json(const std::vector<Warning>& warnings) {
  Json json = Json::array();
  for (const Warning& warning : warnings) {
    json.push_back({{"kind", warning.kind}, {"where", warning.where}, {"what", warning.what}});
  }
  return json;
}

}  // namespace tare::cli
