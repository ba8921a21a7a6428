// Quantizes for an engine that is there: finds a plan that is measured to be fast, quantizes by
// it, and measures what comes of that against the float file.
#include "tare/error.h"
#include "tare/model_files.h"
#include "tare/process.h"
#include "tare/report.h"
#include "tare/search.h"

#include "engine/model_inputs.h"
#include "engine/plan_files.h"
#include "engine/plan_search.h"
#include "engine/tune.h"

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
constexpr double kPrecision = 0.01;
/// Of the time that tuning may take; the rest is for measuring what comes of it.
constexpr double kForPlans = 0.8;

class MeasuredQuantizer {
 public:
  MeasuredQuantizer(const std::filesystem::path& file, const Graph& model, const Dataset* data,
                    const Config& config, const Toolkit& toolkit,
                    const std::function<QuantizeResult(const Config&)>& make,
                    const EngineQuantizeOptions& options)
      : file_(file),
        model_(model),
        data_(data),
        config_(config),
        toolkit_(toolkit),
        make_(make),
        options_(options),
        start_(Clock::now()) {}

  MeasuredQuantization run() {
    try {
      prepare();
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

  void prepare() {
    inputs_ = model_inputs(model_, data_);
    engine_ = open_engine(options_.engine);
    real_ = engine_->load(float_file(), inputs_);
    if (!places_by_time()) {
      return;
    }
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
    const TunedTarget tuned = tune_in(*engine_, model_, config_, toolkit_, {}, deadline(kShare),
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

  /// Whether accuracy is worth no more time, by the target's costs, than it may have.
  bool is_within_slowdown(const QuantizeResult& accurate, const QuantizeResult& fast) const {
    constexpr double kRounding = 0.01;
    const auto time = [&](const QuantizeResult& result) {
      const auto predicted = predicted_time(result.simulated, result.table, toolkit_.patterns);
      return predicted ? predicted->quantized : 0;
    };
    return time(accurate) <=
           time(fast) * (1 + kRounding + slowdown_of(config_, target_of(config_, toolkit_)));
  }

  /// Of the worst output, on a few samples, in dB.
  double sqnr(const QuantizeResult& result) const {
    constexpr std::size_t kCompared = 16;
    const Report report =
        compare_result(result, *data_, toolkit_, {.samples = kCompared, .brief = true});
    double worst = std::numeric_limits<double>::infinity();
    for (const OutputReport& output : report.outputs) {
      worst = std::min(worst, output.error.sqnr.value_or(worst));
    }
    return worst;
  }

  /// Whether the results are poor unless some layers are in float: a tenth off, on average.
  bool needs_float(const QuantizeResult& accurate, const QuantizeResult& fast) const {
    constexpr double kPoor = 20;
    return data_ != nullptr && sqnr(fast) < std::min(kPoor, sqnr(accurate));
  }

  /// What the engine takes for the sake of accuracy is held to what it may take, but where the
  /// results would be poor without.
  void hold_to_slowdown(const Config& config, MeasuredQuantization& made) {
    Config fastest = config;
    fastest.slowdown = 0;
    QuantizeResult fast = make_(fastest);
    if (!is_within_slowdown(made.result, fast)) {
      return;
    }
    SpeedComparison speed = measure(fast);
    const double allowed = 1 + slowdown_of(config_, target_of(config_, toolkit_));
    if (speed.ratio.value > made.speed->ratio.value * allowed &&
        !needs_float(made.result, fast)) {
      made.result = std::move(fast);
      made.speed = std::move(speed);
    }
  }

  /// By the plan, or by smaller ones until the file is not slower.
  MeasuredQuantization quantized() {
    MeasuredQuantization best;
    if (!places_by_time()) {
      best.result = make_(config_);
      best.speed = measure(best.result);
      return best;
    }
    Config config = files_->config(plan_.integers, config_.target);
    for (int attempt = 0;; ++attempt) {
      best.result = make_(config);
      best.timed = plan_.timed;
      best.speed = measure(best.result);
      if (attempt == 0 && !plan_.integers.empty() && config.slowdown.value_or(1) != 0) {
        hold_to_slowdown(config, best);
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
    for (const std::string& region : placed_) {
      if (!plan_.integers.contains(region)) {
        best.kept_float.insert(region);
      }
    }
    return best;
  }

  SpeedComparison measure(const QuantizeResult& result) {
    const std::filesystem::path path = written_.next(".onnx");
    write_model(result, path, options_.form);
    const std::array models{real_, engine_->load(path, inputs_)};
    const Timing timing = time_in_turn(
        *engine_, models, {.seconds = kVerifySeconds, .precision = kPrecision, .progress = {}});
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
  const Config& config_;
  const Toolkit& toolkit_;
  const std::function<QuantizeResult(const Config&)>& make_;
  const EngineQuantizeOptions& options_;
  Clock::time_point start_;
  TemporaryFiles written_;
  ModelInputs inputs_;
  std::unique_ptr<Engine> engine_;
  LoadedModel real_;
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
