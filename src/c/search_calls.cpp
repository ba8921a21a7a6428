// The function tare_search.
#include "tare/error.h"
#include "tare/search.h"

#include "c/guard.h"
#include "c/handles.h"
#include "c/json.h"
#include "c/quantized.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace tare::c {
namespace {

tare_search_options complete(const tare_search_options* given) {
  tare_search_options options{};
  options.holdout = -1;
  if (given != nullptr) {
    if (given->size < sizeof(given->size)) {
      throw Error(ErrorCode::kInvalidConfig, "argument 'options'",
                  "has the size " + std::to_string(given->size))
          .expected("'size' set to sizeof(tare_search_options)");
    }
    std::memcpy(&options, given, std::min(given->size, sizeof(options)));
  }
  if (!(options.least_integers >= 0 && options.least_integers <= 1)) {
    throw Error(ErrorCode::kInvalidConfig, "argument 'least_integers'",
                "is " + std::to_string(options.least_integers))
        .expected("a number from 0 to 1");
  }
  return options;
}

SearchOptions search_options(const tare_search_options& given, const tare_model& model,
                             const tare_samples& samples, const Work& work) {
  SearchOptions options{.threads = work.threads(),
                        .least_integers = given.least_integers,
                        .checkpoint = given.checkpoint == nullptr ? "" : given.checkpoint,
                        .model_file = model.path,
                        .data_file = samples.name,
                        .progress = work.progress("searching")};
  for (std::size_t i = 0; i < given.condition_count; ++i) {
    require(given.conditions[i], "conditions");
    options.conditions.emplace_back(given.conditions[i]);
  }
  std::vector<std::string> budgets;
  for (std::size_t i = 0; i < given.budget_count; ++i) {
    require(given.budgets[i], "budgets");
    budgets.emplace_back(given.budgets[i]);
  }
  options.budget = read_budget(budgets);
  if (given.holdout >= 0) {
    options.holdout = static_cast<std::size_t>(given.holdout);
  }
  // What is longer than a year is no limit, and would not fit the clock.
  constexpr double kYear = 365.0 * 24 * 3600;
  if (given.seconds > 0 && given.seconds < kYear) {
    options.deadline = std::chrono::steady_clock::now() +
                       std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                           std::chrono::duration<double>(given.seconds));
  }
  return options;
}

}  // namespace

extern "C" {

tare_error* tare_search(const tare_model* model, const tare_samples* samples,
                        const tare_config* config, const tare_search_options* given,
                        const tare_job* job, tare_quantized** quantized, char** json) {
  return guarded(activity("searching", model), [&] {
    require(model, "model");
    require(samples, "samples");
    require(quantized, "quantized");
    require(json, "json");
    const Work work(job);
    const SearchOptions options = search_options(complete(given), *model, *samples, work);
    auto settings = settings_of(config);
    Report known;
    for (const MetricInfo& metric : settings->toolkit.metrics) {
      known.metrics.push_back({std::string(metric.name), std::nullopt});
    }
    for (const ReportCondition& condition : options.conditions) {
      work.warn(condition.check(known));
    }
    const auto data = used_samples(*samples, work.samples());
    const Graph graph = load(*model, settings->config, data.get());
    SearchResult found = search(graph, *data, settings->config, settings->toolkit, options);
    auto result = std::make_unique<tare_quantized>(
        tare_quantized{settings, std::move(found.quantized.value()), model->path, model->name});
    *json = text_for_caller(to_text(search_json(found, options)));
    *quantized = result.release();
  });
}

}  // extern "C"

}  // namespace tare::c
