#include "tare/diagnose.h"
#include "tare/error.h"
#include "tare/pipeline.h"

#include "compare/real_interface.h"
#include "pipeline/load.h"
#include "pipeline/try_changes.h"

#include <algorithm>
#include <utility>

namespace tare {
namespace {

/// Following sums costs several times what running the graph does, and bits hardly change after
/// the first samples.
constexpr std::size_t kSamplesOfSums = 16;

constexpr const char* kFactorsKey = "tare.equalization";

/// seen_sums() of the first samples; nothing for factors of more than 8 bits.
std::vector<ProductSums> sums_of_first(const Graph& integer, const Dataset& data,
                                       const CompareOptions& options) {
  const std::size_t available = options.samples == 0 ? data.size() : options.samples;
  try {
    return seen_sums(integer, data, options.threads, std::min(available, kSamplesOfSums));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUnsupported) {
      throw;
    }
    return {};
  }
}

Report compare(const Graph& prepared, const Graph& integer, const ChannelFactors& factors,
               const Dataset& data, const Target& target, CompareFacts facts,
               const Toolkit& toolkit, const CompareOptions& options) {
  std::vector<ProductSums> sums;
  if (!options.brief) {
    sums = sums_of_first(integer, data, options);
    facts.metrics = toolkit.metrics;
  }
  facts.sums = sums;
  facts.calibrators = toolkit.calibrators;
  Report report = compare(prepared, integer, data, facts, options);
  report.target = target.name;
  for (const auto& [value, of_channels] : factors) {
    report.equalized.push_back(value);
  }
  diagnose(report);
  if (!options.brief) {
    try_changes(prepared, ChangeableNetwork(prepared, integer), data, options.threads,
                options.samples, report);
    propose_worst_layers(report);
  }
  return report;
}

}  // namespace

std::map<std::string, std::string> file_metadata(const QuantizeResult& result) {
  std::map<std::string, std::string> metadata;
  if (!result.factors.empty()) {
    metadata.emplace(kFactorsKey, text_of(result.factors));
  }
  return metadata;
}

ChannelFactors read_factors(const std::filesystem::path& quantized) {
  if (is_tflite(quantized)) {
    return {};
  }
  const auto metadata = read_metadata(quantized);
  const auto found = metadata.find(kFactorsKey);
  return found == metadata.end() ? ChannelFactors{} : channel_factors(found->second);
}

Report compare_models(ComparedModels models, const Dataset& data, const Config& config,
                      const Toolkit& toolkit, const CompareOptions& options) {
  if (is_quantized(models.real)) {
    throw Error(ErrorCode::kInvalidModel, "float model", "is quantized already")
        .hint("the float model comes first, then the quantized one");
  }
  const Target target = read_target(config.target);
  const std::vector<Verdict> all = verdicts_of_file(models.quantized, target, toolkit);
  const std::vector<Warning> warnings = audit_inputs(models.real, data, options.threads);
  const Graph prepared = equalize(prepare(std::move(models.real), toolkit), models.factors);
  Graph integer = lower_quantized(std::move(models.quantized), config, toolkit);
  if (models.numerics) {
    integer = with_numerics(std::move(integer), *models.numerics);
  }
  return compare(prepared, with_interface_of(prepared, std::move(integer)), models.factors,
                 data, target,
                 {.verdicts = all,
                  .sums = {},
                  .table = nullptr,
                  .calibrators = {},
                  .metrics = {},
                  .warnings = warnings},
                 toolkit, options);
}

Report compare_result(const QuantizeResult& result, const Dataset& data, const Toolkit& toolkit,
                      const CompareOptions& options) {
  const std::vector<Verdict> all = verdicts_of(result);
  return compare(result.simulated.source, result.integer, result.factors, data,
                 result.simulated.target,
                 {.verdicts = all,
                  .sums = {},
                  .table = &result.table,
                  .calibrators = {},
                  .metrics = {},
                  .warnings = result.audit.warnings},
                 toolkit, options);
}

}  // namespace tare
