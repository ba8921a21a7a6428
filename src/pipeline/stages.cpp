#include "pipeline/stages.h"

#include "tare/error.h"

#include "calibrate/selection/small_divisors.h"
#include "calibrate/statistics/denormals.h"
#include "equalize/rotation.h"
#include "graph/arithmetic/node_arithmetic.h"
#include "lower/forms/forms.h"
#include "lower/lower.h"
#include "lower/stored_embeddings.h"
#include "onnx/layer_names.h"
#include "pipeline/cache_scales.h"
#include "pipeline/recipe.h"
#include "reconstruct/float_network.h"
#include "reconstruct/reconstruct.h"
#include "simulate/check_demands.h"
#include "simulate/quantized_constants.h"
#include "simulate/separate_biases.h"

#include <algorithm>

namespace tare {
namespace {

/// "'shift'", or "'shift' and 'upward'".
std::string joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "'" : " and '") + word + "'";
  }
  return text;
}

/// What the model leaves open but the network does not.
void audit_fixed_dimensions(const Graph& prepared, std::vector<Warning>& warnings) {
  for (const auto& [name, extent] : prepared.fixed_dimensions) {
    warnings.push_back({"fixed_dimension", "dimension '" + name + "'",
                        "is " + std::to_string(extent) +
                            " in the written model, as the network would be another one for "
                            "other extents"});
  }
}

/// What files say in their metadata alone, since their operators have no word for it.
void audit_rescaling(const NetworkArithmetic& arithmetic, std::vector<Warning>& warnings) {
  std::set<std::string> words;
  const auto look_at = [&](const SumArithmetic& own) {
    if (own.requantize != RequantizeMode{}) {
      words.insert(to_attributes(own.requantize).text("rounding"));
    }
  };
  look_at(arithmetic.usual);
  for (const auto& [node, own] : arithmetic.layers) {
    look_at(own);
  }
  if (!words.empty()) {
    warnings.push_back({"requantize_of_file", "requantize.rounding",
                        "ONNX operators cannot express " + joined(words) +
                            ", only the file's metadata can; engines that run the file "
                            "rescale in float32 and round halves to even, and so do reports"});
  }
}

/// The same of accumulators, and where they may still overflow although they were not to.
void audit_accumulators(const SimulatedGraph& simulated, const Graph& integer,
                        std::vector<Warning>& warnings) {
  const NetworkArithmetic& arithmetic = simulated.arithmetic;
  std::set<int> widths;
  const auto look_at = [&](const SumArithmetic& own) {
    if (own.accumulator != Accumulator{}) {
      widths.insert(own.accumulator.bits);
    }
  };
  look_at(arithmetic.usual);
  for (const auto& [node, own] : arithmetic.layers) {
    look_at(own);
  }
  if (widths.empty()) {
    return;
  }
  std::string bits = std::to_string(*widths.begin());
  if (widths.size() > 1) {
    bits += " to " + std::to_string(*widths.rbegin());
  }
  warnings.push_back({"accumulator_of_file", "accumulator",
                      "ONNX operators cannot express accumulators of " + bits +
                          " bits, only the file's metadata can; engines that run the file use "
                          "32, and so do reports"});
  if (!simulated.avoids_overflow) {
    return;
  }
  for (const AccumulatorRange& sums : worst_case_accumulators(integer)) {
    const std::string& node = integer.node(sums.node).name;
    if (!sums.range.fits(arithmetic.of(node).accumulator)) {
      warnings.push_back({"accumulator_overflow", "node '" + node + "'",
                          "may need " + std::to_string(sums.range.bits()) +
                              " bits, as both of its factors are computed"});
    }
  }
}

/// What the target computes on in float, although it was asked for on integers.
void audit_storage(const SimulatedGraph& simulated, const QuantTable& table,
                   std::vector<Warning>& warnings) {
  const auto wide = std::count_if(table.begin(), table.end(), [](const auto& entry) {
    return entry.second.enabled && size_of(entry.second.params.storage) == 2;
  });
  if (wide > 0 && !simulated.target.operators.empty()) {
    warnings.push_back({"wide_activations", "target '" + simulated.target.name + "'",
                        "computes in float on values of 16 bits, as " + std::to_string(wide) +
                            " of this network have, and converts them"});
  }
}

/// Kernels of convolutions take one zero point for all channels. Weights of few bits have none
/// in bytes, see centre(), and are made real where they are packed.
void audit_zero_points(const SimulatedGraph& simulated, const QuantTable& table,
                       std::vector<Warning>& warnings) {
  std::size_t unlike = 0;
  for (const QuantPoint& point : simulated.points) {
    const auto found = table.find(point.name);
    if (point.role != Role::kWeight || !point.reader || found == table.end() ||
        !found->second.enabled) {
      continue;
    }
    const std::string& op = simulated.source.node(*point.reader).op;
    const QuantParams& params = found->second.params;
    const bool is_alike = std::ranges::all_of(
        params.zero_point, [&](std::int32_t zero) { return zero == params.zero_point[0]; });
    const bool is_moved = params.bits != 0 && params.bits <= kCentredBits;
    unlike += (op == "Conv" || op == "ConvTranspose") && !is_moved && !is_alike ? 1 : 0;
  }
  if (unlike > 0) {
    warnings.push_back({"weight_zero_points", "'weights.symmetric: false'",
                        "gives channels of " + std::to_string(unlike) +
                            " convolutions zero points of their own, for which ONNX Runtime "
                            "on a CPU has no kernel: it refuses to run the file"});
  }
}

/// With the best effort all calibrators are tried where none was asked for.
Config with_effort(Config config, const Toolkit& toolkit) {
  const auto names = toolkit.calibrator_names();
  if (config.effort == Effort::kBest &&
      config.activations.calibrator == Config().activations.calibrator &&
      std::find(names.begin(), names.end(), "auto") != names.end()) {
    config.activations.calibrator = {.name = "auto", .options = {}};
  }
  return config;
}

/// Where weights or activations have fewer than 8 bits, but for weights in blocks, which have
/// enough scales.
bool has_few_bits_outside_blocks(const SimulatedGraph& simulated) {
  return std::any_of(simulated.points.begin(), simulated.points.end(),
                     [](const QuantPoint& point) {
                       return point.role != Role::kAccumulator && point.spec.block == 0 &&
                              has_few_bits(point.spec);
                     });
}

/// Nothing where the network is not reconstructed.
std::optional<Grain> reconstructed_grain(const Config& config,
                                         const SimulatedGraph& simulated) {
  const auto automatic =
      config.effort == Effort::kBest && has_few_bits_outside_blocks(simulated)
          ? Reconstruction::kBlock
          : Reconstruction::kNone;
  switch (config.reconstruction.value_or(automatic)) {
    case Reconstruction::kLayer:
      return Grain::kLayer;
    case Reconstruction::kBlock:
      return Grain::kBlock;
    default:
      return std::nullopt;
  }
}

/// A quantized model in which nothing is left to be quantized.
bool runs_on_integers(const Graph& model, const Toolkit& toolkit) {
  return is_quantized(model) && float_operators(lower_quantized(model, {}, toolkit)).empty();
}

}  // namespace

void check_fallback(const Config& config, const Graph& integer,
                    const std::vector<KeptFloat>& kept) {
  if (config.may_fall_back) {
    return;
  }
  Faults faults;
  for (const std::string& name : float_operators(integer)) {
    const auto known = std::find_if(kept.begin(), kept.end(),
                                    [&](const KeptFloat& k) { return k.node == name; });
    const std::string& op = integer.node(*integer.find_node(name)).op;
    faults.add("node '" + name + "' (" + op + ")",
               "stays in float, which 'fallback' forbids: " +
                   (known != kept.end() ? known->reason
                                        : "not all of its operands and results are quantized"));
  }
  faults.raise(ErrorCode::kUnsupported);
}

namespace {

/// Something is there to be quantized.
void require_layers(const Graph& model) {
  const std::vector<NodeId> nodes = model.nodes();
  if (!model.tail || std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
        const std::string& op = model.node(id).op;
        return may_be_layer(op) || is_product(op);
      })) {
    return;
  }
  const auto& operators = model.tail->operators;
  const auto first = std::find_if(operators.begin(), operators.end(),
                                  [](const auto& each) { return !each.reason.empty(); });
  throw Error(
      ErrorCode::kUnsupported, "model",
      "has no layer before node '" + first->node + "' (" + first->op + "): " + first->reason)
      .hint("nothing is quantized behind results whose shape depends on data");
}

}  // namespace

void require_numbers(const Graph& graph) {
  Faults faults;
  for (const Warning& broken : invalid_constants(graph)) {
    faults.add(broken.where, broken.what);
  }
  if (!faults.empty()) {
    throw Error(ErrorCode::kInvalidModel, faults.all())
        .hint("the float model does not compute sensible results either, see 'tare run'");
  }
}

namespace {

LayerRule kept_float(const std::string& node, std::string_view because) {
  LayerRule rule;
  rule.name = node;
  rule.keep_float = true;
  rule.because = because;
  return rule;
}

}  // namespace

Stages::Stages(const Graph& model, const Config& config, const Toolkit& toolkit)
    : config_(config), toolkit_(&toolkit), target_(target_of(config, toolkit)) {
  during("reading the configuration", [&] { check_calibrators(config, toolkit.calibrators); });
  require_layers(model);
  require_numbers(model);  // by the names of the file, and of what it computes from constants
  result_.prepared =
      during("preparing the graph", [&] { return prepare(in_float32(model), toolkit); });
  require_numbers(result_.prepared);
  during("applying 'layers'", [&] { check_rules(model, result_.prepared, config); });
  if (!is_quantized(model)) {
    AppliedRecipe recipe = with_recipe(result_.prepared, config_);
    config_ = std::move(recipe.config);
    result_.recipe = std::move(recipe.text);
    if (config_.rotation) {
      result_.prepared = during("rotating the residual stream",
                                [&] { return with_rotation(std::move(result_.prepared)); });
    }
  }
  config_ = with_effort(std::move(config_), toolkit);  // which would not leave a recipe open
  // Here, as values of all that comes after are those of this graph.
  result_.prepared = with_separate_biases(std::move(result_.prepared), config_, target_);
  equalized_ = result_.prepared;
  if (runs_on_integers(model, toolkit)) {
    config_.objective = Objective::kLatency;  // which without patterns leaves all as it is
  } else {
    patterns_ = toolkit.patterns;
  }
}

void Stages::keep_small_divisors(const Dataset& data, const CalibrateOptions& options) {
  if (target_.objective == Objective::kLatency || !has_divisors(result_.prepared)) {
    return;  // where time decides, errors have a price
  }
  simulate();
  if (has_quantized_divisors(result_.simulated)) {
    keep_small_divisors(
        during("calibrating", [&] { return collect(result_.simulated, data, options); }));
  }
}

void Stages::keep_small_divisors(const Statistics& observed) {
  if (target_.objective == Objective::kLatency) {
    return;
  }
  std::vector<LayerRule> rules;
  for (const std::string& node : nodes_at_small_divisors(result_.simulated, observed)) {
    rules.push_back(kept_float(node, kDividesBySmall));
  }
  // Later ones win.
  config_.layers.insert(config_.layers.begin(), rules.begin(), rules.end());
}

void Stages::use(ChannelFactors factors, int threads) {
  result_.factors = std::move(factors);
  equalized_ = during(
      "simulating", [&] { return tare::equalize(result_.prepared, result_.factors, threads); });
}

void Stages::equalize(const Dataset& data, const CalibrateOptions& options) {
  if (schedule_of(config_) == Schedule::kSequential) {
    use(during("calibrating",
               [&] {
                 return equalization_factors(result_.prepared, data, config_, target_,
                                             patterns_, toolkit_->calibrators, options,
                                             &observed_);
               }),
        options.threads);
    if (!result_.factors.empty()) {
      observed_ = {};
    }
  }
}

void Stages::observe_caches(const Dataset& data, const CalibrateOptions& options) {
  if (config_.cache.is_stored) {
    caches_ = during("calibrating", [&] {
      return cache_scales(result_.prepared, data, config_.cache, options);
    });
  }
}

void Stages::calibrate(const Dataset& data, const CalibrateOptions& options,
                       LevelJournal* journal) {
  decide("calibrating", [&](const SimulatedGraph& simulated, CalibrationAudit& audit) {
    QuantTable table =
        is_sequential()
            ? calibrate_sequentially(simulated, data, toolkit_->calibrators, options, &audit,
                                     journal)
            : tare::calibrate(simulated, data, toolkit_->calibrators, options, &audit);
    if (const auto grain = reconstructed_grain(config_, simulated)) {
      table = reconstruct(simulated, table, data, *grain, options, &audit, journal);
    }
    return table;
  });
}

void Stages::simulate() {
  result_.simulated = during("simulating", [&] {
    return tare::simulate(equalized_, config_, target_, patterns_, result_.float_nodes,
                          wide_values_);
  });
  if (!patterns_.empty()) {
    during("applying 'layers'", [&] { check_demands(result_.simulated, config_); });
  }
}

QuantizeResult Stages::finish() {
  result_.integer = during("lowering", [&] {
    return with_equal_widths(lower(result_.simulated, result_.table), target_,
                             result_.simulated.arithmetic.usual.requantize);
  });
  const bool was_quantized = is_quantized(result_.prepared);
  if (was_quantized) {
    result_.audit.warnings.push_back(
        {"already_quantized", "model",
         "is quantized already: its parameters stay, and " +
             (result_.simulated.regions.empty()
                  ? std::string("nothing else was quantized")
                  : std::to_string(result_.simulated.regions.size()) +
                        " more layers were quantized")});
    result_.integer =
        for_target(lower_quantized(to_qdq(result_.integer), config_, *toolkit_), target_);
  }
  if (config_.cache.is_stored && caches_.empty()) {
    throw Error(ErrorCode::kInvalidConfig, "'cache.storage'", "gets its scales from samples");
  }
  result_.integer = with_stored_caches(std::move(result_.integer), caches_);
  if (config_.stores_embeddings) {
    result_.integer =
        with_stored_embeddings(std::move(result_.integer), lookups_of_tokens(result_.prepared));
  }
  auto denormal = denormal_weights(result_.prepared);
  if (denormal) {
    result_.integer = without_denormal_weights(std::move(result_.integer));
  }
  check_fallback(config_, result_.integer, result_.simulated.kept_float);
  // Engines choose kernels as for a model of float32: Casts are around those on integers.
  Graph plain = result_.integer;
  plain.file_types.clear();
  const Graph qdq = export_form(plain, Form::kQdq, target_);
  result_.verdicts =
      was_quantized ? verdicts(qdq, target_) : verdicts(result_.simulated, result_.table, qdq);
  result_.qdq = result_.integer.file_types.empty()
                    ? qdq
                    : export_form(result_.integer, Form::kQdq, target_);
  audit_fixed_dimensions(result_.prepared, result_.audit.warnings);
  for (Warning& warning : audit_tail(result_.prepared)) {
    result_.audit.warnings.push_back(std::move(warning));
  }
  audit_rescaling(result_.simulated.arithmetic, result_.audit.warnings);
  audit_accumulators(result_.simulated, result_.integer, result_.audit.warnings);
  audit_storage(result_.simulated, result_.table, result_.audit.warnings);
  audit_zero_points(result_.simulated, result_.table, result_.audit.warnings);
  if (denormal) {
    result_.audit.warnings.push_back(*std::move(denormal));
  }
  return std::move(result_);
}

}  // namespace tare
