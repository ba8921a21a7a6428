// Evaluates conditions on a report: a path to one figure, or the least or largest of several,
// and a comparison. Paths are checked against a prototype with every field that a report can
// have, so a misspelt one is an error before any sample is run.
#include "tare/error.h"
#include "tare/report.h"

#include "report/figures.h"
#include "report/prototype.h"
#include "report/report_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace tare {
namespace {

constexpr std::array<std::string_view, 6> kComparisons{"<=", ">=", "==", "!=", "<", ">"};
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string_view trimmed(std::string_view text) {
  constexpr const char* kSpace = " \t";
  const std::size_t first = text.find_first_not_of(kSpace);
  return first == std::string_view::npos
             ? std::string_view{}
             : text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

/// Fields that have been renamed: conditions may still have the earlier name, and reports in
/// the checkpoint of a search that an earlier version began.
struct Renamed {
  std::string_view earlier;
  std::string_view now;
};
constexpr std::array<Renamed, 5> kRenamed{{{"seen", "observed"},
                                           {"chosen", "calibrated"},
                                           {"runners_up", "alternatives"},
                                           {"bits_seen", "bits_observed"},
                                           {"bits_guaranteed", "bits_worst_case"}}};

/// Names in brackets may hold signs.
std::size_t find_comparison(std::string_view text) {
  const std::size_t after_names = text.rfind(']');
  return text.find_first_of("<>=!", after_names == std::string_view::npos ? 0 : after_names);
}

bool holds(double value, std::string_view comparison, double bound) {
  if (comparison == "<") {
    return value < bound;
  }
  if (comparison == "<=") {
    return value <= bound;
  }
  if (comparison == ">") {
    return value > bound;
  }
  if (comparison == ">=") {
    return value >= bound;
  }
  return (value == bound) == (comparison == "==");
}

/// Follows a path through a report, or through a prototype() of one.
class PathEvaluator {
 public:
  enum class Through { kReport, kPrototype };

  explicit PathEvaluator(const std::string& text, Through through = Through::kReport)
      : text_(text), is_prototype_(through == Through::kPrototype) {}

  struct Found {
    std::string where;  ///< the entries of lists on the way
    std::optional<double> value;
  };

  std::vector<Found> values(const Json& report, std::string_view path) {
    found_.clear();
    path_ = path;
    metrics_ = report.value("metrics", Json::object());
    if (const auto metric = metrics_.find(path_); metric != metrics_.end()) {
      follow(*metric, "", "");
    } else {
      follow(report, path, "");
    }
    return std::move(found_);
  }

  Error fault(const std::string& what) const {
    return {ErrorCode::kInvalidConfig, place(), what};
  }

  /// One for each field on the path that has another name now.
  const std::vector<Warning>& warnings() const { return warnings_; }

 private:
  std::string place() const { return "condition '" + text_ + "'"; }

  void follow(const Json& json, std::string_view path, const std::string& where) {
    if (json.is_null()) {
      found_.push_back({where, std::nullopt});  // and so is all that would be in it
    } else if (path.starts_with("[")) {
      choose(json, path, where);
    } else if (json.is_array()) {
      for (const Json& entry : json) {
        follow(entry, path, where.empty() ? name_of(entry) : where);
      }
    } else if (path.empty()) {
      if (!json.is_number()) {
        throw fault("is about what is no number").expected("a field that holds one");
      }
      found_.push_back({where, json.get<double>()});
    } else {
      descend(json, path, where);
    }
  }

  void descend(const Json& json, std::string_view path, const std::string& where) {
    const std::size_t end = std::min(path.find_first_of(".["), path.size());
    const std::string field(path.substr(0, end));
    const Json* member = json.is_object() ? find_field(json, field) : nullptr;
    if (member == nullptr) {
      throw no_such("field", field,
                    json.is_object() ? keys_of(json) : std::vector<std::string>{});
    }
    const std::string_view rest = path.substr(end);
    const bool is_exact = field == "sqnr" && member->is_null() && json.value("exact", false);
    if (is_exact && rest.empty()) {
      found_.push_back({where, kInfinity});
      return;
    }
    follow(*member, rest.starts_with(".") ? rest.substr(1) : rest, where);
  }

  /// By its name, or by another that it has or had; null where there is none.
  const Json* find_field(const Json& json, const std::string& field) {
    if (const auto found = json.find(field); found != json.end()) {
      return &*found;
    }
    for (const Renamed& renamed : kRenamed) {
      const bool is_earlier = field == renamed.earlier;
      if (!is_earlier && field != renamed.now) {
        continue;
      }
      const auto found = json.find(std::string(is_earlier ? renamed.now : renamed.earlier));
      if (found != json.end()) {
        if (is_earlier) {
          warn(renamed);
        }
        return &*found;
      }
    }
    return nullptr;
  }

  void warn(const Renamed& renamed) {
    const std::string what = "'" + std::string(renamed.earlier) + "' is called '" +
                             std::string(renamed.now) + "' now";
    if (std::none_of(warnings_.begin(), warnings_.end(),
                     [&](const Warning& known) { return known.what == what; })) {
      warnings_.push_back({"earlier_name", place(), what});
    }
  }

  /// An entry of a list; names may hold brackets themselves.
  void choose(const Json& json, std::string_view path, const std::string& where) {
    if (!json.is_array()) {
      throw fault("chooses of what is no list");
    }
    std::vector<std::string> names;
    for (const Json& entry : json) {
      names.push_back(name_of(entry));
    }
    for (std::size_t end = path.find(']'); end != std::string_view::npos;
         end = path.find(']', end + 1)) {
      const std::string_view after = path.substr(end + 1);
      const auto index = find_entry(names, path.substr(1, end - 1), after);
      if (index) {
        follow(json[*index], after.starts_with(".") ? after.substr(1) : after,
               where.empty() ? names[*index] : where);
        return;
      }
    }
    const std::size_t end = path.find(']');
    if (end == std::string_view::npos) {
      throw fault("has no ']' after '['");
    }
    throw no_such("entry", std::string(path.substr(1, end - 1)), names);
  }

  /// By name, or by index.
  std::optional<std::size_t> find_entry(const std::vector<std::string>& names,
                                        std::string_view name, std::string_view after) const {
    if (is_prototype_ && names.size() == 1 && names[0].empty()) {
      const bool ends_here = after.empty() || after[0] == '.' || after[0] == '[';
      return ends_here ? std::optional<std::size_t>(0) : std::nullopt;
    }
    if (const auto found = std::find(names.begin(), names.end(), name); found != names.end()) {
      return static_cast<std::size_t>(found - names.begin());
    }
    std::size_t index = 0;
    const char* const end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data(), end, index);
    return error == std::errc{} && rest == end && index < names.size() ? std::optional(index)
                                                                       : std::nullopt;
  }

  Error no_such(const std::string& kind, const std::string& name,
                const std::vector<std::string>& known) const {
    Error error = fault("the report has no " + kind + " '" + name + "'");
    if (const std::string near = suggestion(name, known); !near.empty()) {
      error.hint(near);
    } else if (const std::string metric = suggestion(path_, keys_of(metrics_));
               !metric.empty()) {
      error.hint(metric);
    } else if (kind == "field" && !known.empty()) {
      std::string all;
      for (const std::string& each : known) {
        all += (all.empty() ? "" : ", ") + each;
      }
      error.hint("there are " + all);
    }
    return error;
  }

  static std::vector<std::string> keys_of(const Json& object) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : object.items()) {
      keys.push_back(key);
    }
    return keys;
  }

  static std::string name_of(const Json& entry) {
    const auto name = entry.is_object() ? entry.find("name") : entry.end();
    return entry.is_object() && name != entry.end() && name->is_string()
               ? name->get<std::string>()
               : std::string();
  }

  const std::string& text_;
  bool is_prototype_;
  std::string path_;  ///< all of it
  Json metrics_;      ///< of the report
  std::vector<Found> found_;
  std::vector<Warning> warnings_;
};

}  // namespace

/// What conditions say of reports that were parsed already. Throws as ReportCondition::met_by()
/// does.
class ConditionEvaluator {
 public:
  static std::optional<std::string> reason(const ReportCondition&, const Json& report);
  /// Of those that hold.
  static std::vector<std::string> reasons(const std::vector<ReportCondition>&,
                                          const Json& report);
};

ReportCondition::ReportCondition(const std::string& text) : text_(text) {
  const auto fault = [&](const std::string& what) {
    return Error(ErrorCode::kInvalidConfig, "condition '" + text + "'", what)
        .expected(
            "a field of the report, one of < <= > >= == != and a number, as "
            "'output.sqnr<30'");
  };
  const std::size_t sign = find_comparison(text);
  if (sign == std::string::npos) {
    throw fault("compares nothing");
  }
  const std::string_view from_sign = std::string_view(text).substr(sign);
  const auto* const comparison =
      std::find_if(kComparisons.begin(), kComparisons.end(),
                   [&](std::string_view each) { return from_sign.starts_with(each); });
  if (comparison == kComparisons.end()) {
    throw fault("has no comparison that is known");
  }
  comparison_ = *comparison;
  const std::string_view number = trimmed(from_sign.substr(comparison->size()));
  const auto [rest, error] =
      std::from_chars(number.data(), number.data() + number.size(), bound_);
  if (error != std::errc{} || rest != number.data() + number.size() || !std::isfinite(bound_)) {
    throw fault("does not end in a number");
  }
  std::string_view value = trimmed(std::string_view(text).substr(0, sign));
  for (const auto& [name, over] :
       {std::pair("min(", Over::kMin), std::pair("max(", Over::kMax)}) {
    if (value.starts_with(name) && value.ends_with(")")) {
      over_ = over;
      value = trimmed(value.substr(4, value.size() - 5));
      break;
    }
  }
  if (value.empty()) {
    throw fault("has no field");
  }
  path_ = value;
}

ReportCondition ReportCondition::negated() const {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kOpposites{
      {{"<", ">="}, {">=", "<"}, {">", "<="}, {"<=", ">"}, {"==", "!="}, {"!=", "=="}}};
  ReportCondition result = *this;
  const auto found =
      std::find_if(kOpposites.begin(), kOpposites.end(),
                   [this](const auto& pair) { return pair.first == comparison_; });
  result.comparison_ = found->second;
  return result;
}

std::vector<Warning> ReportCondition::check(const Report& known) const {
  PathEvaluator evaluator(text_, PathEvaluator::Through::kPrototype);
  (void)evaluator.values(Json::parse(report_json(prototype(known))), path_);
  return evaluator.warnings();
}

std::optional<std::string> ReportCondition::met_by(const std::string& report) const {
  return ConditionEvaluator::reason(*this, Json::parse(report));
}

std::optional<std::string> ConditionEvaluator::reason(const ReportCondition& condition,
                                                      const Json& report) {
  using Over = ReportCondition::Over;
  const std::string& text = condition.text_;
  const Over over = condition.over_;
  PathEvaluator evaluator(text);
  auto found = evaluator.values(report, condition.path_);
  if (over == Over::kOne && found.size() > 1) {
    throw evaluator.fault("is about " + std::to_string(found.size()) + " numbers")
        .expected("min(...) or max(...) of them, or the name of one in brackets");
  }
  if (over != Over::kOne) {
    std::erase_if(found, [](const auto& each) { return !each.value; });
  }
  const auto chosen =
      std::min_element(found.begin(), found.end(), [over](const auto& a, const auto& b) {
        return over == Over::kMax ? *a.value > *b.value : *a.value < *b.value;
      });
  if (chosen == found.end() || !chosen->value) {
    return text + ": there is no such value";
  }
  if (!holds(*chosen->value, condition.comparison_, condition.bound_)) {
    return std::nullopt;
  }
  return text + ": it is " + brief(*chosen->value) +
         (chosen->where.empty() ? "" : " at '" + chosen->where + "'");
}

std::vector<std::string> ConditionEvaluator::reasons(
    const std::vector<ReportCondition>& conditions, const Json& report) {
  std::vector<std::string> result;
  for (const ReportCondition& condition : conditions) {
    if (auto why = reason(condition, report)) {
      result.push_back(*std::move(why));
    }
  }
  return result;
}

std::vector<std::string> conditions_met(const std::vector<ReportCondition>& conditions,
                                        const std::string& report) {
  return conditions.empty() ? std::vector<std::string>{}
                            : ConditionEvaluator::reasons(conditions, Json::parse(report));
}

}  // namespace tare
