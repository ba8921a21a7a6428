// Compares two reports: entries are matched by name, and those that differ by what somebody
// might act on are sorted by how much they lost. Linear in the number of entries but for
// sorting.

#include "tare/report.h"

#include "base/input_file.h"
#include "report/report_json.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

namespace tare {
namespace {

/// Nobody acts on a difference of less than a tenth of a decibel.
constexpr double kNotable = 0.1;

const Json kNull;

/// The member of an object; null for whatever has no such member.
const Json& member(const Json& json, const std::string& name) {
  const auto found = json.is_object() ? json.find(name) : json.end();
  return json.is_object() && found != json.end() ? *found : kNull;
}

const Json& at(const Json& json, std::initializer_list<const char*> path) {
  const Json* current = &json;
  for (const char* name : path) {
    current = &member(*current, name);
  }
  return *current;
}

Json change(const Json& from, const Json& to) {
  return {{"from", from}, {"to", to}};
}

bool differ_notably(const Json& from, const Json& to) {
  if (from.is_number() && to.is_number()) {
    return std::abs(from.get<double>() - to.get<double>()) >= kNotable;
  }
  return from != to;
}

/// How much better an entry has become, in dB: exact beats everything.
double gain(const Json& from, const Json& to) {
  constexpr double kExact = 200;  // dB, beyond what float32 can show
  const auto level = [](const Json& error) {
    const Json& sqnr = member(error, "sqnr");
    return sqnr.is_number()                       ? sqnr.get<double>()
           : member(error, "exact") == Json(true) ? kExact
                                                  : 0;
  };
  return level(to) - level(from);
}

class Difference {
 public:
  Difference(const Json& from, const Json& to) : from_(from), to_(to) {}

  Json run() const {
    return {{"verdict", change(at(from_, {"verdict", "level"}), at(to_, {"verdict", "level"}))},
            {"drop", change(at(from_, {"top1", "drop"}), at(to_, {"top1", "drop"}))},
            {"outputs", outputs()},
            {"layers", layers()},
            {"points", points()},
            {"diagnosis", diagnosis()}};
  }

 private:
  struct Pairs {
    std::vector<std::pair<const Json*, const Json*>> both;
    Json appeared = Json::array();
    Json vanished = Json::array();
  };

  Pairs pairs(const char* list) const {
    std::map<std::string, const Json*> before;
    for (const Json& entry : from_[list]) {
      before.emplace(entry["name"].get<std::string>(), &entry);
    }
    Pairs result;
    std::set<std::string> kept;
    for (const Json& entry : to_[list]) {
      const auto name = entry["name"].get<std::string>();
      if (const auto found = before.find(name); found != before.end()) {
        result.both.emplace_back(found->second, &entry);
        kept.insert(name);
      } else {
        result.appeared.push_back(name);
      }
    }
    for (const Json& entry : from_[list]) {
      if (!kept.contains(entry["name"].get<std::string>())) {
        result.vanished.push_back(entry["name"]);
      }
    }
    return result;
  }

  Json outputs() const {
    Json changed = Json::array();
    const Pairs all = pairs("outputs");
    for (const auto& [from, to] : all.both) {
      changed.push_back({{"name", member(*to, "name")},
                         {"sqnr", change(member(*from, "sqnr"), member(*to, "sqnr"))},
                         {"agreement", change(at(*from, {"agreement", "percent"}),
                                              at(*to, {"agreement", "percent"}))}});
    }
    return {{"appeared", all.appeared}, {"vanished", all.vanished}, {"both", changed}};
  }

  /// The one that became worst first.
  Json layers() const {
    std::vector<std::pair<double, Json>> changed;
    const Pairs all = pairs("layers");
    for (const auto& [from, to] : all.both) {
      Json entry{{"name", member(*to, "name")}, {"op", member(*to, "op")}};
      for (const char* kind : {"local", "cumulative"}) {
        const Json& before = at(*from, {kind, "sqnr"});
        const Json& after = at(*to, {kind, "sqnr"});
        if (differ_notably(before, after)) {
          entry[kind] = change(before, after);
        }
      }
      const Json& before = member(*from, "runs_as");
      const Json& after = member(*to, "runs_as");
      if (before != after) {
        entry["runs_as"] = change(before, after);
      }
      if (entry.size() > 2) {
        changed.emplace_back(gain(member(*from, "local"), member(*to, "local")),
                             std::move(entry));
      }
    }
    std::stable_sort(changed.begin(), changed.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    Json list = Json::array();
    for (auto& [order, entry] : changed) {
      list.push_back(std::move(entry));
    }
    return {{"appeared", all.appeared}, {"vanished", all.vanished}, {"changed", list}};
  }

  Json points() const {
    Json changed = Json::array();
    const Pairs all = pairs("points");
    for (const auto& [from, to] : all.both) {
      Json entry{{"name", member(*to, "name")}};
      for (const char* field : {"storage", "scale", "zero_point", "axis", "calibrator"}) {
        if (member(*from, field) != member(*to, field)) {
          entry[field] = change(member(*from, field), member(*to, field));
        }
      }
      if (entry.size() > 1) {
        changed.push_back(std::move(entry));
      }
    }
    return {{"appeared", all.appeared}, {"vanished", all.vanished}, {"changed", changed}};
  }

  Json diagnosis() const {
    const auto keys = [](const Json& report) {
      std::set<std::pair<std::string, std::string>> result;
      for (const Json& entry : member(report, "diagnosis")) {
        result.emplace(member(entry, "kind").dump(), member(entry, "layer").dump());
      }
      return result;
    };
    const auto only = [&](const Json& in, const Json& other) {
      const auto known = keys(other);
      Json list = Json::array();
      for (const Json& entry : member(in, "diagnosis")) {
        const Json& kind = member(entry, "kind");
        const Json& layer = member(entry, "layer");
        if (!known.contains({kind.dump(), layer.dump()})) {
          list.push_back({{"kind", kind}, {"layer", layer}});
        }
      }
      return list;
    };
    return {{"appeared", only(to_, from_)}, {"vanished", only(from_, to_)}};
  }

  const Json& from_;
  const Json& to_;
};

}  // namespace

std::string compare_reports(const std::filesystem::path& from,
                            const std::filesystem::path& to) {
  const Json before = parse_report(InputFile(from).contents(), from.string());
  const Json after = parse_report(InputFile(to).contents(), to.string());
  Json json{{"format", "tare-report-difference"},
            {"version", 1},
            {"from", from.string()},
            {"to", to.string()}};
  json.update(Difference(before, after).run());
  return to_text(json);
}

}  // namespace tare
