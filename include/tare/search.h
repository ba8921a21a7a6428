#pragma once

#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/error.h"
#include "tare/execute.h"
#include "tare/quantize.h"
#include "tare/report.h"
#include "tare/simulate.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tare {

/// The configuration with which quantize() applies the plan.
Config apply_plan(Config, const MixedPrecisionPlan&);

/// At most so much of something: an amount, or a share of what the network takes with as many
/// bits in all weights as are permitted.
struct BudgetLimit {
  double amount = 0;
  bool is_share = false;  ///< `amount` is one, above 0

  friend bool operator==(const BudgetLimit&, const BudgetLimit&) = default;
};

/// What a quantized network may take.
struct Budget {
  std::optional<BudgetLimit> size{};  ///< bytes of the file, and of one with its constants
  /// Of one run: multiplications times the bits of both factors, 32 of what is real.
  std::optional<BudgetLimit> bit_operations{};

  bool is_set() const { return size || bit_operations; }
  friend bool operator==(const Budget&, const Budget&) = default;
};

/// Of texts such as "size=0.5MB" (see parse_bytes()), "size=60%", "bops=1.5G" (k, M, G or T in
/// powers of 1000, or none) and "bops=50%". Throws Error(kInvalidConfig) with all that are none
/// and with those that say again what another one says.
Budget read_budget(const std::vector<std::string>& texts);

struct SearchOptions {
  int threads = 0;  ///< 0: one per core
  /// Processes that share the work of each pass; null: this one does all. The first one keeps
  /// the checkpoint and writes the files. Where `stop` says true in one of them, the others
  /// wait for it in vain.
  Communicator* communicator = nullptr;
  /// What the quantized network has to meet, such as 'output.sqnr>=30'.
  std::vector<ReportCondition> conditions{};
  double least_integers = 0;  ///< share of the multiplications that has to stay on integers
  /// Where it is set, the search is for the widths of weights: see search(). Goes with neither
  /// least_integers nor deadline.
  Budget budget{};
  /// So many of the samples, the last ones, are evaluated on and not calibrated on. 0: all are
  /// for both. Absent: a third, or 0 where there are fewer than 8.
  std::optional<std::size_t> holdout{};
  /// From then on no other plan is tried. One is in any case.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();

  // Files; each may be left out.
  /// Gets the best model so far, as soon as it is known.
  std::filesystem::path output{};
  /// Get its report, in the formats of their names.
  std::vector<std::filesystem::path> reports{};
  /// Holds all that is known, until the search is done: the same call resumes from it, and ends
  /// as if nothing had happened. Conditions, least_integers, deadline, threads and amounts of a
  /// budget may change.
  std::filesystem::path checkpoint{};
  /// Shared objects in the toolkit; a checkpoint is of a search with the same.
  std::vector<std::filesystem::path> plugins{};
  std::filesystem::path model_file{};  ///< that the model was read from, for reports
  std::filesystem::path data_file{};   ///< likewise

  /// Told of each pass over samples, as CalibrateOptions::progress. What it throws ends the
  /// search.
  std::function<void(std::size_t done, std::size_t total)> progress{};
  /// Asked often, from any thread but one at a time; true ends the search. May be empty.
  std::function<bool()> stop{};
};

/// A plan of the Pareto front, and its result where it was tried.
struct SearchedPlan {
  MixedPrecisionPlan plan;
  bool has_enough_integers = true;      ///< see SearchOptions::least_integers
  std::string report{};                 ///< as report_json() writes it; empty: not tried
  std::optional<double> sqnr{};         ///< the least of all outputs; infinite: all are exact
  std::vector<std::string> failures{};  ///< conditions that it does not meet, with the figures

  bool is_tried() const { return !report.empty(); }
  bool meets() const { return is_tried() && has_enough_integers && failures.empty(); }
};

enum class SearchEnd : std::uint8_t {
  kDone,
  kDeadline,  ///< there was no time to try all that it takes
  kStopped,   ///< by SearchOptions::stop
};

/// What a quantized network takes.
struct NetworkCost {
  double bytes = 0;           ///< as Budget::size
  double bit_operations = 0;  ///< as Budget::bit_operations

  friend bool operator==(const NetworkCost&, const NetworkCost&) = default;
};

/// How many bits the weights of a layer have.
struct LayerWidth {
  std::vector<std::string> nodes;  ///< of the prepared graph; more than one share weights
  int bits = 8;
  double error = 0;       ///< that they cause alone, see docs/bits.md; 0 where not measured
  bool is_given = false;  ///< by the configuration, which the search leaves alone
};

/// A mix of widths within a budget.
struct WidthMix {
  std::vector<LayerWidth> layers;  ///< those that are quantized, in the order of the network
  NetworkCost limit;               ///< infinite where there is none
  NetworkCost taken;               ///< by the written file
  NetworkCost widest;              ///< with `most_bits` wherever the search chooses
  NetworkCost least;               ///< with `least_bits` there
  int most_bits = 8;
  int least_bits = 2;
};

/// As JSON: limits, what the network takes, and the widths of its layers. A limit that there is
/// none of is null.
std::string mix_json(const WidthMix&);

struct SearchResult {
  SearchEnd end = SearchEnd::kDone;
  std::size_t trials = 0;  ///< plans that were tried, by this call or by those it resumed
  /// The checkpoint holds something that the same call resumes from.
  bool is_resumable = false;

  // Where the search was stopped, the rest is not there.
  std::size_t calibrated_on = 0;  ///< samples, the first ones
  std::size_t evaluated_on = 0;   ///< samples, the last ones of those used
  /// The Pareto front, the fastest first: the plans with enough integers, or, where none has,
  /// the one with the most.
  std::vector<SearchedPlan> plans{};
  /// Index of the fastest plan that meets all, as far as was tried; where none does, of the one
  /// with the least expected error.
  std::size_t chosen = 0;
  Config config{};  ///< with which quantize() applies the chosen plan, of calibrated_on samples
  std::optional<QuantizeResult> quantized{};  ///< of that; absent where `output` has the model
  /// With a budget; `plans` then has one plan, whose error is that of the weights and whose
  /// time is not predicted.
  std::optional<WidthMix> mix{};

  bool meets() const { return chosen < plans.size() && plans[chosen].meets(); }
};

/// Finds the fastest mixed-precision plan that meets the conditions. Calibrates in one pass to
/// measure the sensitivities of some samples, from which it finds the Pareto front of plans;
/// quantizes and evaluates some of these, by bisection. The configured slowdown has no effect.
///
/// With a budget it finds the widths of weights, layer by layer, that lose least within it: 8,
/// 4 or 2 bits, or as many as are configured for all weights and fewer. What else is configured
/// stays in force, and so do `bits` and `storage` of entries of `layers:`. Layers with weights
/// are on integers. The first and the last one keep the most bits unless nothing else fits, or
/// only what more than doubles the expected error. With a size, files hold 4 bits in as many
/// unless Config::packs_weights forbids it. The network is quantized, and again with fewer bits
/// where its file is too large after all. Conditions are checked then.
///
/// Throws Error(kInvalidConfig) before any sample is read where a condition is about what
/// reports do not have, or all samples are held out; Error(kIo) and Error(kInvalidData) for a
/// checkpoint that is damaged, in use, or of a search with another model, other samples or
/// another configuration; Error(kInvalidConfig) where no widths stay within the budget, with
/// the least that was reached, and where nothing is open; and what quantize() and
/// compare_result() throw.
SearchResult search(const Graph& model, const Dataset&, const Config&, const Toolkit&,
                    const SearchOptions& = {});

// Targets and plans of times that are measured in the engine that will run the model:
// docs/engines.md.

struct TuneOptions {
  EngineOptions engine;
  double seconds = 60;  ///< at most; what was not measured then keeps the costs of the target
  /// Has the times of segments that were measured before; empty: $XDG_CACHE_HOME/tare, or
  /// ~/.cache/tare.
  std::filesystem::path cache{};
  /// Told of segments. May be empty.
  std::function<void(std::size_t done, std::size_t total)> progress{};
};

/// A target whose costs were measured.
struct TunedTarget {
  std::string text;  ///< of a file that extends the configured target
  EngineFacts engine;
  std::size_t layers = 0;    ///< of different operators or shapes, whose times it has
  std::size_t segments = 0;  ///< that these follow from
  std::size_t cached = 0;    ///< of those, measured before
  double error = 0;          ///< median of the relative errors by which they do not fit
};

/// Measures what the layers of a model that could be on integers take there and in float, in
/// their shapes, and what conversions take. Layers are timed alone and together with the one
/// behind them, as files with conversions around them; the times of layers, conversions,
/// changes of layout and calls that explain these best are the costs. Throws as
/// measure_speed().
TunedTarget tune(const Graph& model, const Config&, const Toolkit&, const TuneOptions&);

struct EngineQuantizeOptions {
  EngineOptions engine;
  double seconds = 60;  ///< for finding out what is faster; the result is measured after that
  Form form = Form::kQdq;  ///< of the file that will be written
  /// Has plans and times that were measured before, as TuneOptions::cache.
  std::filesystem::path cache{};
  /// Told of the share of the time that is over, in percent. May be empty.
  std::function<void(std::size_t done, std::size_t total)> progress{};
};

struct MeasuredQuantization {
  QuantizeResult result;
  /// The float file beside that of the result. Absent where the engine did not measure, which
  /// `failure` says, and where nothing is quantized.
  std::optional<SpeedComparison> speed;
  std::optional<Fault> failure{};  ///< of the engine; the costs of the target decided instead
  std::size_t timed = 0;           ///< files that were tried
  bool is_known = false;           ///< the plan was found before, in the same engine
  /// Layers that run in float because the engine was measured to be faster so.
  std::set<std::string> kept_float{};
};

/// quantize() for a target whose costs are those of an engine as it is: layers are on integers
/// where the file of `model` is faster so, and the result is never slower than that file beyond
/// 2 %, as the lower bound of its ratio says; nothing is quantized where there is no other way.
/// `make` quantizes by a configuration. `data`, which may be null, has what the network is run
/// on. An engine that fails costs no more than its patience. A plan that was found before for
/// the same model, configuration and first samples in the same engine is only measured again,
/// and is looked for anew where it has become slower than float.
MeasuredQuantization quantize_for_engine(
    const std::filesystem::path& file, const Graph& model, const Dataset* data, const Config&,
    const Toolkit&, const std::function<QuantizeResult(const Config&)>& make,
    const EngineQuantizeOptions&);

}  // namespace tare
