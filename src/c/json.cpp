// Results for programs, as JSON.
#include "c/json.h"

#include "tare/error.h"
#include "tare/search.h"

#include <charconv>
#include <cmath>
#include <map>
#include <string>

namespace tare::c {
namespace {

std::string hexadecimal(std::uint64_t number) {
  std::string text(16, '0');
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number, 16).ptr;
  text.resize(static_cast<std::size_t>(end - text.data()));
  return text;
}

std::string reason(const Verdict& verdict) {
  return verdict.detail.empty() ? verdict.because : verdict.because + ": " + verdict.detail;
}

/// The quantization pattern that covers an operator, by its name.
std::map<std::string, std::string> patterns_of(const SimulatedGraph& simulated) {
  std::map<std::string, std::string> patterns;
  for (const Region& region : simulated.regions) {
    for (const NodeId id : region.match.nodes()) {
      patterns.emplace(simulated.source.node(id).name, region.pattern->name);
    }
  }
  for (const DynamicProduct& product : simulated.dynamic) {
    patterns.emplace(simulated.source.node(product.node).name, "dynamic");
  }
  return patterns;
}

Json count_json(const std::vector<Verdict>& verdicts) {
  const OperatorCount count = count_operators(verdicts);
  return {{"on_integers", count.on_integers}, {"all", count.all}};
}

Json ranges_json(const std::vector<Range>& ranges) {
  Json list = Json::array();
  for (const Range& range : ranges) {
    list.push_back({range.low, range.high});
  }
  return list;
}

}  // namespace

Json warnings_json(const std::vector<Warning>& warnings) {
  Json list = Json::array();
  for (const Warning& warning : warnings) {
    list.push_back({{"kind", warning.kind}, {"where", warning.where}, {"what", warning.what}});
  }
  return list;
}

Json verdicts_json(const std::vector<Verdict>& verdicts) {
  Json list = Json::array();
  for (const Verdict& verdict : verdicts) {
    Json& entry = list.emplace_back(Json{{"node", verdict.node}, {"op", verdict.op}});
    if (verdict.in_float()) {
      entry["float_because"] = reason(verdict);
    } else {
      entry["runs_as"] = verdict.runs_as;
      entry["is_part"] = verdict.is_part;
    }
  }
  return list;
}

Json summary_json(const ReadConfig& settings, const QuantizeResult& result) {
  std::size_t points = 0;
  std::size_t wide_points = 0;
  for (const auto& [name, point] : result.table) {
    points += point.enabled ? 1 : 0;
    wide_points += point.enabled && size_of(point.params.storage) == 2 ? 1 : 0;
  }
  const auto predicted = predicted_time(result.simulated, result.table,
                                        settings.toolkit.patterns, result.float_nodes);
  Json json{
      {"target", result.simulated.target.name},
      {"samples", result.audit.samples},
      {"points", points},
      {"wide_points", wide_points},
      {"operators", count_json(result.verdicts)},
      {"predicted_speed", predicted ? Json(predicted->floats / predicted->quantized) : Json()},
      {"fastest_predicted_speed",
       predicted ? Json(predicted->floats / predicted->fastest) : Json()},
      {"quantized", Json::array()},
      {"kept_float", Json::array()},
      {"accumulators", Json::array()},
      {"calibration",
       {{"samples", result.audit.samples},
        {"data", hexadecimal(result.audit.data)},
        {"warnings", warnings_json(result.audit.warnings)}}}};
  const auto patterns = patterns_of(result.simulated);
  for (const Verdict& verdict : result.verdicts) {
    if (verdict.in_float()) {
      json["kept_float"].push_back(
          {{"node", verdict.node}, {"op", verdict.op}, {"reason", reason(verdict)}});
    } else if (!verdict.is_part) {
      const auto pattern = patterns.find(verdict.node);
      json["quantized"].push_back(
          {{"node", verdict.node},
           {"op", verdict.op},
           {"pattern", pattern != patterns.end() ? Json(pattern->second) : Json()},
           {"runs_as", verdict.runs_as}});
    }
  }
  for (const AccumulatorRange& sums : worst_case_accumulators(result.integer)) {
    json["accumulators"].push_back({{"node", layer_name(result.integer.node(sums.node).name)},
                                    {"bits", sums.range.bits()}});
  }
  return json;
}

Json table_json(const QuantTable& table) {
  Json json = Json::object();
  for (const auto& [name, point] : table) {
    const QuantParams& params = point.params;
    json[name] = {{"enabled", point.enabled},
                  {"storage", name_of(params.storage)},
                  {"scale", params.scale},
                  {"zero_point", params.zero_point},
                  {"axis", params.axis ? Json(*params.axis) : Json()},
                  {"block", params.block},
                  {"calibrator", point.calibrator},
                  {"observed", ranges_json(point.observed)},
                  {"calibrated", ranges_json(point.calibrated)}};
  }
  return json;
}

Json search_json(const SearchResult& found, const SearchOptions& wanted) {
  Json json{
      {"end", found.end == SearchEnd::kDone       ? "done"
              : found.end == SearchEnd::kDeadline ? "deadline"
                                                  : "stopped"},
      {"trials", found.trials},
      {"samples", {{"calibrating", found.calibrated_on}, {"holdout", found.evaluated_on}}},
      {"met", found.meets()},
      {"chosen", found.chosen},
      {"curve", Json::array()}};
  for (const SearchedPlan& tried : found.plans) {
    std::vector<std::string> failures = tried.failures;
    if (!tried.has_enough_integers) {
      failures.insert(failures.begin(), "least_integers " + Json(wanted.least_integers).dump() +
                                            ": no plan keeps more than " +
                                            Json(tried.plan.integer_share).dump());
    }
    json["curve"].push_back(
        {{"nanoseconds", tried.plan.nanoseconds},
         {"integer_share", tried.plan.integer_share},
         {"expected_error", tried.plan.error},
         {"keep_float", tried.plan.float_nodes},
         {"slowdown", tried.plan.slowdown},
         {"sqnr", tried.sqnr && std::isfinite(*tried.sqnr) ? Json(*tried.sqnr) : Json()},
         {"failures", std::move(failures)}});
  }
  if (found.mix) {
    json["mix"] = Json::parse(mix_json(*found.mix));
  }
  return json;
}

std::string to_text(const Json& json) {
  return json_escaped(json.dump(1, ' ', false, Json::error_handler_t::replace)) + "\n";
}

}  // namespace tare::c
