// The functions tare_statistics_*.
#include "tare/error.h"
#include "tare/simulate.h"

#include "c/guard.h"
#include "c/handles.h"

#include <algorithm>
#include <utility>

namespace tare::c {
namespace {

Statistics collected(const tare_model& model, const Dataset& data, const ReadConfig& settings,
                     const char* checkpoint, const Work& work) {
  const auto& [names, toolkit, config] = settings;
  const Graph graph = load(model, config, &data);
  const SimulatedGraph simulated = simulate_all(graph, config, toolkit);
  const std::size_t limit = work.samples() != 0
                                ? work.samples()
                                : static_cast<std::size_t>(config.samples.value_or(0));
  const auto batch = static_cast<std::size_t>(graph.type(graph.inputs()[0]).shape[0]);
  const std::size_t available = limit == 0 ? data.size() : std::min(limit, data.size());
  work.warn(audit_inputs(graph, data, work.threads()));
  work.warn(audit_sample_count(available / batch * batch));
  const CalibrateOptions pass{
      .threads = work.threads(), .samples = limit, .progress = work.progress("calibrating")};
  CalibrationAudit audit;
  Statistics statistics =
      checkpoint == nullptr
          ? collect(simulated, data, pass, {}, &audit)
          : collect_resumably(simulated, data, pass,
                              {.file = checkpoint, .reading = {.trial_in_child = true}},
                              &audit);
  work.warn(audit.warnings);
  return statistics;
}

}  // namespace

extern "C" {

tare_error* tare_statistics_collect(const tare_model* model, const tare_samples* samples,
                                    const tare_config* config, const char* checkpoint,
                                    const tare_job* job, tare_statistics** statistics) {
  return guarded(activity("calibrating", model), [&] {
    require(model, "model");
    require(samples, "samples");
    require(statistics, "statistics");
    *statistics = new tare_statistics{
        collected(*model, *samples->data, *settings_of(config), checkpoint, Work(job))};
  });
}

tare_error* tare_statistics_read(const char* path, tare_statistics** statistics) {
  return guarded([&] {
    require(path, "path");
    require(statistics, "statistics");
    *statistics = new tare_statistics{read_statistics(path, {.trial_in_child = true})};
  });
}

tare_error* tare_statistics_write(const tare_statistics* statistics, const char* path) {
  return guarded([&] {
    require(statistics, "statistics");
    require(path, "path");
    write_statistics(path, statistics->value);
  });
}

tare_error* tare_statistics_merge(const tare_statistics* from, tare_statistics* into) {
  return guarded("merging statistics", [&] {
    require(from, "from");
    require(into, "into");
    const Statistics added = from->value;  // which may be those that it is added to
    merge(added, into->value);
  });
}

uint64_t tare_statistics_samples(const tare_statistics* statistics) {
  return statistics == nullptr ? 0 : statistics->value.samples;
}

void tare_statistics_free(tare_statistics* statistics) {
  delete statistics;
}

}  // extern "C"

}  // namespace tare::c
