#include "compare/compare.h"

#include "tare/config.h"
#include "tare/error.h"
#include "tare/integer_graph.h"
#include "tare/quantize.h"
#include "tare/report.h"
#include "tare/statistics.h"

#include "calibrate/selection/trial.h"
#include "compare/real_interface.h"
#include "equalize/equalize.h"
#include "execute/run/feed.h"
#include "lower/stored_caches.h"
#include "pipeline/stages.h"
#include "pipeline/try_changes.h"
#include "report/diagnose.h"

#include <algorithm>
#include <utility>

namespace tare {
namespace {

/// Following sums costs several times what running the graph does, and bits hardly change after
/// the first samples.
constexpr std::size_t kSamplesOfSums = 16;

/// observed_accumulators() of the first samples; nothing for factors of more than 8 bits.
std::vector<AccumulatorRange> sums_of_first(const Graph& integer, const Dataset& data,
                                            const CompareOptions& options) {
  const std::size_t available = options.samples == 0 ? data.size() : options.samples;
  try {
    const std::size_t first = in_whole_runs(kSamplesOfSums, Feed(integer, data, 0).batch());
    return observed_accumulators(integer, data, options.threads, std::min(available, first), {},
                                 options.communicator);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) {
      throw;
    }
    return {};
  }
}

/// How many samples a brief comparison takes, which is to take little of the time that
/// quantizing does: whole runs.
std::size_t samples_in_brief(const Graph& network, const Dataset& data, EvaluatedOn kind) {
  constexpr std::size_t kMost = 64;
  constexpr std::size_t kUsuallyAtLeast = 8;
  constexpr std::size_t kAtLeast = 4;
  constexpr std::size_t kCalibratedForOne = 8;
  constexpr double kMultiplications = 1.6e10;
  const std::size_t batch = Feed(network, data, 0).batch();
  std::size_t wanted = kMost;
  if (kind == EvaluatedOn::kCalibration) {
    const double multiplications = kMultiplications * static_cast<double>(batch);
    wanted = runs_within(multiplications, network, kAtLeast,
                         std::clamp(data.size() / kCalibratedForOne, kUsuallyAtLeast, kMost));
  }
  return std::min(in_whole_runs(wanted, batch), data.size());
}

/// What a language model is measured by even in brief.
std::vector<MetricInfo> token_metrics(const Toolkit& toolkit) {
  std::vector<MetricInfo> result;
  for (const MetricInfo& metric : toolkit.metrics) {
    if (metric.name.starts_with("perplexity") || metric.name == "tokens.agreement") {
      result.push_back(metric);
    }
  }
  return result;
}

Report compare(const Graph& prepared, const Graph& equalized, const Graph& integer,
               const ChannelFactors& factors, const Dataset& data, const Target& target,
               CompareFacts facts, const Toolkit& toolkit, const CompareOptions& options) {
  std::vector<AccumulatorRange> sums;
  std::vector<MetricInfo> metrics;
  if (!options.brief) {
    sums = sums_of_first(integer, data, options);
    facts.metrics = toolkit.metrics;
  } else if (token_interface(prepared)) {
    metrics = token_metrics(toolkit);
    facts.metrics = metrics;
  }
  facts.sums = sums;
  facts.calibrators = toolkit.calibrators;
  facts.equalized = {&equalized, divisors(prepared, factors)};
  Report report = compare(prepared, integer, data, facts, options);
  report.target = target.name;
  for (const auto& [value, of_channels] : factors) {
    report.equalized.push_back(value);
  }
  diagnose(report);
  if (!options.brief) {
    add_findings(toolkit.findings, report);
    try_changes(prepared, ChangeableNetwork(equalized, integer), data, options, report);
    propose_worst_layers(report);
  }
  return report;
}

}  // namespace

Report compare_models(ComparedModels models, const Dataset& data, const Config& config,
                      const Toolkit& toolkit, const CompareOptions& options) {
  if (is_quantized(models.real)) {
    throw Error(ErrorCode::kInvalidModel, "float model", "is quantized already")
        .hint("the float model comes first, then the quantized one");
  }
  const Target target = target_of(config, toolkit);
  const std::vector<Verdict> all = verdicts_of_file(models.quantized, target, toolkit);
  const std::vector<Warning> warnings = audit_inputs(models.real, data, options.threads);
  const Graph prepared = prepare(std::move(models.real), toolkit);
  Graph integer =
      lower_quantized(std::move(models.quantized), config, toolkit, models.arithmetic);
  if (models.numerics) {
    integer = with_numerics(std::move(integer), *models.numerics);
  }
  return compare(prepared, equalize(prepared, models.factors, options.threads),
                 with_interface_of(prepared, std::move(integer)), models.factors, data, target,
                 {.verdicts = all,
                  .sums = {},
                  .table = nullptr,
                  .calibrators = {},
                  .metrics = {},
                  .equalized = {},
                  .warnings = warnings},
                 toolkit, options);
}

Report compare_result(const QuantizeResult& result, const Dataset& data, const Toolkit& toolkit,
                      const CompareOptions& options) {
  if (options.brief && options.samples == 0) {
    const std::size_t few = samples_in_brief(result.prepared, data, options.evaluated_on);
    CompareOptions of_few = options;
    of_few.samples = few;
    return compare_result(result, *evenly_spaced(data, few), toolkit, of_few);
  }
  Graph integer = with_numerics(result.integer, Numerics::kOnnxRuntime);
  if (!find_caches(result.prepared).empty()) {
    integer = with_interface_of(result.prepared, std::move(integer));  // they may be integers
  }
  return compare(result.prepared, result.simulated.source, integer, result.factors, data,
                 result.simulated.target,
                 {.verdicts = result.verdicts,
                  .sums = {},
                  .table = &result.table,
                  .calibrators = {},
                  .metrics = {},
                  .equalized = {},
                  .warnings = result.audit.warnings},
                 toolkit, options);
}

}  // namespace tare
