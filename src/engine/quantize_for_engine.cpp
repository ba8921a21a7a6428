// Quantizes for an engine that is there: finds a plan that is measured to be fast, quantizes by
// it, and measures what comes of that against the float file. A plan that was found before is
// only measured again.
#include "tare/error.h"
#include "tare/model_files.h"
#include "tare/process.h"
#include "tare/report.h"
#include "tare/search.h"
#include "tare/statistics.h"

#include "base/hash.h"
#include "base/version.h"
#include "engine/model_inputs.h"
#include "engine/plan_cache.h"
#include "engine/plan_files.h"
#include "engine/plan_search.h"
#include "engine/silu_fusion.h"
#include "engine/tune.h"
#include "io/config_digest.h"
#include "pipeline/slowdown.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace tare {
namespace {

using Clock = std::chrono::steady_clock;

/// A file whose ratio is above that for sure is not slower: the share that remains is what
/// measuring the same file twice may give.
constexpr double kNotSlower = 0.98;
constexpr double kVerifySeconds = 5;
/// Where a plan was found before, which is to be quick.
constexpr double kCachedVerifySeconds = 2.5;
constexpr double kPrecision = 0.01;
/// Of the time that tuning may take; the rest is for measuring what comes of it.
constexpr double kForPlans = 0.8;
/// On so many samples results are compared.
constexpr std::size_t kJudged = 16;

class MeasuredQuantizer {
 public:
  MeasuredQuantizer(const std::filesystem::path& file, const Graph& model, const Dataset* data,
                    const Config& config, const Toolkit& toolkit,
                    const std::function<QuantizeResult(const Config&)>& make,
                    const EngineQuantizeOptions& options)
      : file_(file),
        model_(model),
        data_(data),
        given_(config),
        config_(config),
        toolkit_(toolkit),
        make_(make),
        options_(options),
        start_(Clock::now()) {}

  MeasuredQuantization run() {
    try {
      open();
      if (!places_by_time()) {
        return as_configured();
      }
      if (auto known = by_known_plan()) {
        return *std::move(known);
      }
      config_ = with_faster_silu(*engine_, model_, inputs_, given_, toolkit_);
      find_plan();
      return quantized();
    } catch (const Error& error) {
      if (!is_of_engine(error)) {
        throw;
      }
      return by_costs(error);
    }
  }

 private:
  /// Other faults are those of the model, the data or the configuration.
  static bool is_of_engine(const Error& error) {
    return error.code() == ErrorCode::kUnsupported &&
           error.faults()[0].where.starts_with("engine");
  }

  /// Whether time decides what is on integers at all.
  bool places_by_time() const {
    return config_.objective.value_or(target_of(config_, toolkit_).objective) ==
           Objective::kLatency;
  }

  void open() {
    inputs_ = model_inputs(model_, data_);
    engine_ = open_engine(options_.engine);
    real_ = engine_->load(float_file(), inputs_);
    cache_.emplace(engine_->facts(), digest(), options_.cache);
  }

  /// Of all that decides what the plan should be. Results are judged on the first samples, and
  /// who gives more time wants a better plan.
  std::uint64_t digest() const {
    const std::uint64_t data =
        data_ == nullptr ? 0 : data_digest(model_, *data_, 0, std::min(kJudged, data_->size()));
    const std::string own = version() + "\n" + std::to_string(static_cast<int>(options_.form)) +
                            "\n" + std::to_string(options_.seconds);
    const std::uint64_t settings = hash(own, config_digest(given_));
    return hash(hexadecimal(data) + " " + hexadecimal(model_digest(model_)), settings);
  }

  void find_plan() {
    files_.emplace(*engine_, model_, data_, config_, toolkit_, options_.form, inputs_);
    std::set<std::string> all;
    for (const auto& [region, nodes] : files_->regions()) {
      all.insert(region);
    }
    placed_ = files_->placed(config_.target);
    plan_ = search_plan(*engine_, *files_, real_, {placed_, placed_as_measured(), all, {}},
                        deadline(kForPlans), [this] { show_progress(); });
  }

  /// Engines read ONNX; models of other formats are timed as what was read of them.
  std::filesystem::path float_file() {
    if (file_.extension() == ".onnx") {
      return file_;
    }
    const std::filesystem::path path = written_.next(".onnx");
    write_onnx(model_, path);
    return path;
  }

  /// By the times of the layers in this engine, for which a part of the time is enough.
  std::set<std::string> placed_as_measured() {
    constexpr double kShare = 0.4;
    const TunedTarget tuned =
        tune_in(*engine_, model_, config_, toolkit_, options_.cache, deadline(kShare),
                [this](std::size_t, std::size_t) { show_progress(); });
    const TemporaryFiles folder;
    const std::filesystem::path path =
        folder / (std::filesystem::path(config_.target).stem().string() + ".yaml");
    write_text(path, tuned.text);
    return files_->placed(path.string());
  }

  Clock::time_point deadline(double share) const {
    return start_ + std::chrono::duration_cast<Clock::duration>(
                        std::chrono::duration<double>(share * options_.seconds));
  }

  void show_progress() const {
    if (options_.progress) {
      const double passed = std::chrono::duration<double>(Clock::now() - start_).count();
      options_.progress(
          static_cast<std::size_t>(std::min(passed / options_.seconds, 1.0) * 100), 100);
    }
  }

  /// What accuracy may take of the time of the fastest file, where that saves so much.
  double slowdown(const QuantizeResult& fast, double saved) const {
    return usual_slowdown(config_, target_of(config_, toolkit_), fast.prepared,
                          std::max(saved, 0.0));
  }

  std::optional<PredictedTime> predicted(const QuantizeResult& result) const {
    return predicted_time(result.simulated, result.table, toolkit_.patterns);
  }

  /// What the target's costs say that accuracy may take of the time of the fastest file.
  double slowdown_by_costs(const QuantizeResult& fast) const {
    const auto fastest = predicted(fast);
    return slowdown(fast, fastest ? fastest->floats / fastest->quantized - 1 : 0);
  }

  /// Whether accuracy is worth no more time, by the target's costs, than it may have.
  bool is_within_slowdown(const QuantizeResult& accurate, const QuantizeResult& fast) const {
    constexpr double kRounding = 0.01;
    const auto fastest = predicted(fast);
    const auto taken = predicted(accurate);
    return !fastest || !taken ||
           taken->quantized <= fastest->quantized * (1 + kRounding + slowdown_by_costs(fast));
  }

  /// Of the worst output, on a few samples, in dB.
  double sqnr(const QuantizeResult& result) const {
    const Report report =
        compare_result(result, *data_, toolkit_, {.samples = kJudged, .brief = true});
    double worst = std::numeric_limits<double>::infinity();
    for (const OutputReport& output : report.outputs) {
      worst = std::min(worst, output.error.sqnr.value_or(worst));
    }
    return worst;
  }

  /// Whether the results are poor unless more layers are in float: a tenth off, on average.
  bool needs_float(const QuantizeResult& accurate, const QuantizeResult& fast) const {
    constexpr double kPoor = 20;
    return data_ != nullptr && sqnr(fast) < std::min(kPoor, sqnr(accurate));
  }

  QuantizeResult fastest(Config config) const {
    config.slowdown = 0;
    return make_(config);
  }

  /// By its costs, accuracy gets no more time than the target's slowdown, whatever it is worth:
  /// who has an engine wants the file that is fast there. Where the results would be poor,
  /// nothing changes.
  void hold_to_costs(Config& config, QuantizeResult& made, const QuantizeResult& fast) const {
    if (is_within_slowdown(made, fast)) {
      return;
    }
    Config held = config;
    held.slowdown = slowdown_by_costs(fast);
    QuantizeResult result = make_(held);
    if (!needs_float(made, result)) {
      made = std::move(result);
      config = std::move(held);
    }
  }

  /// What the engine takes for the sake of accuracy is held to what it may take, but where the
  /// results would be poor without.
  void hold_to_slowdown(Config& config, MeasuredQuantization& made, QuantizeResult fast) {
    if (!is_within_slowdown(made.result, fast)) {
      return;
    }
    SpeedComparison speed = measure(fast, kVerifySeconds);
    const double allowed = 1 + slowdown(fast, speed.ratio.value - 1);
    if (speed.ratio.value > made.speed->ratio.value * allowed &&
        !needs_float(made.result, fast)) {
      made.result = std::move(fast);
      made.speed = std::move(speed);
      config.slowdown = 0;
    }
  }

  MeasuredQuantization as_configured() {
    MeasuredQuantization made{.result = make_(config_), .speed = {}};
    made.speed = measure(made.result, kVerifySeconds);
    return made;
  }

  /// Nothing where no plan is known, or what comes of it is slower than float today.
  std::optional<MeasuredQuantization> by_known_plan() {
    const auto plan = cache_->find();
    if (!plan) {
      return std::nullopt;
    }
    Config config = given_;
    for (const auto& [node, keep_float] : plan->keep_float) {
      LayerRule rule;
      rule.name = node;
      rule.keep_float = keep_float;
      config.layers.push_back(std::move(rule));
    }
    config.slowdown = plan->slowdown ? plan->slowdown : config.slowdown;
    config.fuse_silu = plan->fuse_silu ? plan->fuse_silu : config.fuse_silu;
    MeasuredQuantization made;
    try {
      made.result = make_(config);
    } catch (const Error& error) {  // with other plug-ins the plan may be none of this network
      if (error.code() == ErrorCode::kInvalidConfig) {
        return std::nullopt;
      }
      throw;
    }
    made.speed = measure(made.result, kCachedVerifySeconds);
    made.kept_float = plan->kept_float;
    made.is_known = true;
    return made.speed->ratio.low >= kNotSlower || made.result.simulated.regions.empty()
               ? std::optional(std::move(made))
               : std::nullopt;
  }

  /// What such a configuration has that the given one has not.
  void remember(const Config& config, const MeasuredQuantization& made) const {
    MeasuredPlan plan{.keep_float = {},
                      .slowdown = {},
                      .fuse_silu = config.fuse_silu,
                      .kept_float = made.kept_float};
    for (std::size_t i = config_.layers.size(); i < config.layers.size(); ++i) {
      plan.keep_float[config.layers[i].name] = *config.layers[i].keep_float;
    }
    if (config.slowdown != config_.slowdown) {
      plan.slowdown = config.slowdown;
    }
    cache_->keep(plan);
  }

  /// Takes what the costs of the target lead to where the engine is faster at that: among the
  /// many files that a search compares some seem faster by chance.
  void compare_with_costs(Config& config, MeasuredQuantization& made) {
    Config unmeasured = config_;
    unmeasured.slowdown = config.slowdown;
    if (config == unmeasured) {
      return;
    }
    QuantizeResult by_costs = make_(unmeasured);
    try {
      SpeedComparison speed = measure(by_costs, kVerifySeconds);
      if (speed.ratio.low >= kNotSlower && speed.ratio.value > made.speed->ratio.value) {
        made.result = std::move(by_costs);
        made.speed = std::move(speed);
        plan_.integers = placed_;
        config = std::move(unmeasured);
      }
    } catch (const Error& error) {  // the engine may refuse that file and no other
      if (!is_of_engine(error) || engine_->is_broken()) {
        throw;
      }
    }
  }

  /// By the plan, or by smaller ones until the file is not slower.
  MeasuredQuantization quantized() {
    MeasuredQuantization best;
    Config config = files_->config(plan_.integers, config_.target);
    for (int attempt = 0;; ++attempt) {
      best.result = make_(config);
      best.timed = plan_.timed;
      std::optional<QuantizeResult> fast;
      if (attempt == 0 && !plan_.integers.empty() && config.slowdown.value_or(1) != 0) {
        fast = fastest(config);
        hold_to_costs(config, best.result, *fast);
      }
      best.speed = measure(best.result, kVerifySeconds);
      if (fast) {
        hold_to_slowdown(config, best, *std::move(fast));
      }
      if (best.speed->ratio.low >= kNotSlower || plan_.integers.empty()) {
        break;
      }
      // First without what accuracy keeps in float, then without anything.
      if (attempt == 0 && config.slowdown.value_or(1) != 0) {
        config.slowdown = 0;
      } else {
        plan_.integers.clear();
        config = files_->config({}, config_.target);
      }
    }
    compare_with_costs(config, best);
    for (const std::string& region : placed_) {
      if (!plan_.integers.contains(region)) {
        best.kept_float.insert(region);
      }
    }
    remember(config, best);
    return best;
  }

  SpeedComparison measure(const QuantizeResult& result, double seconds) {
    const std::filesystem::path path = written_.next(".onnx");
    write_model(result, path, options_.form);
    const std::array models{real_, engine_->load(path, inputs_)};
    const Timing timing = time_in_turn(
        *engine_, models, {.seconds = seconds, .precision = kPrecision, .progress = {}});
    engine_->unload(models[1]);
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    return {.engine = engine_->facts(),
            .first = timing.of(0),
            .second = timing.of(1),
            .ratio = timing.ratio(0, 1),
            .rounds = timing.rounds()};
  }

  MeasuredQuantization by_costs(const Error& error) const {
    MeasuredQuantization result{.result = make_(config_), .speed = {}};
    result.failure = error.faults()[0];
    return result;
  }

  const std::filesystem::path& file_;
  const Graph& model_;
  const Dataset* data_;
  const Config& given_;
  Config config_;  ///< with what was measured to be faster for the network in float
  const Toolkit& toolkit_;
  const std::function<QuantizeResult(const Config&)>& make_;
  const EngineQuantizeOptions& options_;
  Clock::time_point start_;
  TemporaryFiles written_;
  ModelInputs inputs_;
  std::unique_ptr<Engine> engine_;
  LoadedModel real_;
  std::optional<PlanCache> cache_;
  std::optional<PlanFiles> files_;
  FoundPlan plan_;
  std::set<std::string> placed_;
};

}  // namespace

MeasuredQuantization quantize_for_engine(
    const std::filesystem::path& file, const Graph& model, const Dataset* data,
    const Config& config, const Toolkit& toolkit,
    const std::function<QuantizeResult(const Config&)>& make,
    const EngineQuantizeOptions& options) {
  return MeasuredQuantizer(file, model, data, config, toolkit, make, options).run();
}

}  // namespace tare
