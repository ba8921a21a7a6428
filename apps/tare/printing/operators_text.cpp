#include "printing/operators_text.h"

#include "printing/layout.h"
#include "text.h"

#include <algorithm>
#include <map>

namespace tare::cli {
namespace {

/// Groups beyond the last are one line, so that all fit a screen.
constexpr std::size_t kGroups = 6;
constexpr std::size_t kNames = 3;
constexpr std::size_t kNameInList = 28;

std::string group_text(const FloatGroup& group, const Terminal& terminal) {
  std::string line = fmt::format("    {:>3}  {}: ", group.operators.size(), group.reason);
  for (std::size_t i = 0; i < std::min(kNames, group.operators.size()); ++i) {
    line += (i == 0 ? "" : ", ") + shortened(group.operators[i]->node, kNameInList);
  }
  constexpr std::size_t kIndent = 9;
  return wrapped(line + (group.operators.size() > kNames ? ", ..." : ""), kIndent,
                 terminal.columns) +
         "\n";
}

}  // namespace

std::string integer_operators_text(std::span<const Verdict> verdicts) {
  std::map<std::string, std::size_t> counts;
  for (const Verdict& verdict : verdicts) {
    if (!verdict.is_part && !verdict.in_float()) {
      ++counts[verdict.op];
    }
  }
  std::string text;
  for (const auto& [op, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", printable(op), count);
  }
  return text;
}

std::string float_groups_text(std::span<const Verdict> verdicts, const Terminal& terminal) {
  const std::vector<FloatGroup> groups = float_groups(verdicts);
  std::string text;
  const std::size_t shown = groups.size() <= kGroups ? groups.size() : kGroups - 1;
  std::size_t others = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i < shown) {
      text += group_text(groups[i], terminal);
    } else {
      others += groups[i].operators.size();
    }
  }
  if (others > 0) {
    text += fmt::format("    {:>3}  for {} other reasons, which --json lists\n", others,
                        groups.size() - shown);
  }
  return text;
}

std::string reason_text(const Verdict& verdict) {
  return verdict.detail.empty() ? verdict.because : verdict.because + ": " + verdict.detail;
}

}  // namespace tare::cli
