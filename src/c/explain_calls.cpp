// What looks at models: tare_explain, tare_inspect, and tare_describe, which looks at Tare.
#include "tare/error.h"
#include "tare/integer_graph.h"
#include "tare/process.h"
#include "tare/quantize.h"
#include "tare/simulate.h"

#include "c/guard.h"
#include "c/handles.h"
#include "c/json.h"

#include <string_view>
#include <utility>

namespace tare::c {
namespace {

constexpr std::int64_t kElideAbove = 8;  // elements of a constant

Json explained(const tare_model& model, const Dataset* data, const ReadConfig& settings) {
  const auto& [names, toolkit, config] = settings;
  const Target target = target_of(config, toolkit);
  const Graph graph = load(model, config, data);
  std::vector<LintFinding> findings;
  std::vector<RewriteEvent> events;
  std::vector<Verdict> found;
  const bool is_done = is_quantized(graph);
  if (is_done) {
    findings = lint(graph, target);
    found = verdicts_of_file(graph, target, toolkit);
  } else {
    const Graph prepared = prepare(graph, toolkit, &events);
    check_rules(graph, prepared, config);
    found = verdicts(simulate(prepared, config, target, toolkit.patterns));
  }
  const OperatorCount count = count_operators(found);
  Json json{{"model", model.name},
            {"target", target.name},
            {"is_quantized", is_done},
            {"count", {{"on_integers", count.on_integers}, {"all", count.all}}},
            {"operators", verdicts_json(found)},
            {"findings", Json::array()},
            {"rules", Json::array()}};
  for (const LintFinding& finding : findings) {
    json["findings"].push_back(
        {{"node", finding.node}, {"wanted", finding.rule}, {"found", finding.what}});
  }
  for (const RewriteEvent& event : events) {
    Json& entry = json["rules"].emplace_back(Json{{"rule", event.rule}, {"node", event.node}});
    if (!event.reason.empty()) {
      entry["refused"] = event.reason;
    }
  }
  return json;
}

Graph at_stage(const tare_model& model, const Dataset* data, const ReadConfig& settings,
               std::string_view stage, const Work& work) {
  const auto& [names, toolkit, config] = settings;
  Graph graph = load(model, config, data);
  work.warn(invalid_constants(graph));
  work.warn(audit_tail(graph));
  return graph_at_stage(std::move(graph), stage, model.path, data, config, toolkit,
                        {.threads = work.threads(),
                         .samples = static_cast<std::size_t>(config.samples.value_or(0)),
                         .progress = work.progress("calibrating")});
}

template <class Info>
Json names_json(const std::vector<Info>& infos) {
  Json list = Json::array();
  for (const Info& info : infos) {
    list.push_back({{"name", info.name}, {"summary", info.summary}});
  }
  return list;
}

Json description() {
  const Toolkit& toolkit = Toolkit::builtin();
  Json json{{"version", TARE_VERSION},
            {"targets", Json::array()},
            {"calibrators", names_json(toolkit.calibrators)},
            {"metrics", names_json(toolkit.metrics)},
            {"numerics", numerics_names()},
            {"config", Json::array()},
            {"libraries", Json::array()}};
  for (const std::string& name : target_names()) {
    json["targets"].push_back({{"name", name}, {"summary", read_target(name).summary}});
  }
  for (const ConfigKey& key : config_keys(toolkit.calibrator_names())) {
    json["config"].push_back({{"path", key.path},
                              {"values", key.values},
                              {"summary", key.summary},
                              {"value", key.value}});
  }
  for (const Library& library : libraries()) {
    json["libraries"].push_back({{"name", library.name}, {"version", library.version}});
  }
  return json;
}

}  // namespace

extern "C" {

tare_error* tare_explain(const tare_model* model, const tare_samples* samples,
                         const tare_config* config, char** json) {
  return guarded(activity("explaining", model), [&] {
    require(model, "model");
    require(json, "json");
    const Dataset* data = samples == nullptr ? nullptr : samples->data.get();
    *json = text_for_caller(to_text(explained(*model, data, *settings_of(config))));
  });
}

tare_error* tare_inspect(const tare_model* model, const tare_samples* samples,
                         const tare_config* config, const char* stage, int32_t full,
                         const tare_job* job, char** text) {
  return guarded(activity("inspecting", model), [&] {
    require(model, "model");
    require(stage, "stage");
    require(text, "text");
    const Dataset* data = samples == nullptr ? nullptr : samples->data.get();
    const Graph graph = at_stage(*model, data, *settings_of(config), stage, Work(job));
    *text = text_for_caller(full != 0 ? print(graph) : print(graph, kElideAbove));
  });
}

tare_error* tare_describe(char** json) {
  return guarded([&] {
    require(json, "json");
    *json = text_for_caller(to_text(description()));
  });
}

const char* tare_version(void) {
  return TARE_VERSION;
}

int32_t tare_c_version(void) {
  return TARE_C_VERSION;
}

}  // extern "C"

}  // namespace tare::c
