#include "tare/diagnose.h"
#include "tare/error.h"
#include "tare/pipeline.h"

#include <algorithm>
#include <utility>

namespace tare {
namespace {

/// Following sums costs several times what running the graph does, and bits hardly change after
/// the first samples.
constexpr std::size_t kSamplesOfSums = 16;

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

Report compare(const Graph& prepared, const Graph& integer, const Dataset& data,
               const Target& target, CompareFacts facts, const Toolkit& toolkit,
               const CompareOptions& options) {
  const std::vector<ProductSums> sums = sums_of_first(integer, data, options);
  facts.sums = sums;
  facts.calibrators = toolkit.calibrators;
  Report report = compare(prepared, integer, data, facts, options);
  report.target = target.name;
  diagnose(report);
  return report;
}

}  // namespace

Report compare_models(const Graph& model, Graph quantized, const Dataset& data,
                      const Config& config, const Toolkit& toolkit,
                      const CompareOptions& options) {
  if (is_quantized(model)) {
    throw Error(ErrorCode::kInvalidModel, "float model", "is quantized already")
        .hint("the float model comes first, then the quantized one");
  }
  const Target target = read_target(config.target);
  const std::vector<Verdict> all = verdicts(quantized, target);
  const Graph prepared = prepare(model, toolkit);
  const Graph integer = lower_quantized(std::move(quantized), config, toolkit);
  return compare(prepared, integer, data, target, {.verdicts = all, .sums = {}, .table = nullptr, .calibrators = {}}, toolkit, options);
}

Report compare_result(const QuantizeResult& result, const Dataset& data,
                      const Toolkit& toolkit, const CompareOptions& options) {
  const Target& target = result.simulated.target;
  const std::vector<Verdict> all =
      verdicts(export_form(result.integer, Form::kQdq, target), target);
  return compare(result.prepared, result.integer, data, target,
                 {.verdicts = all, .sums = {}, .table = &result.table, .calibrators = {}}, toolkit, options);
}

}  // namespace tare
