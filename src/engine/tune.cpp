// Measures segments of a network, and finds the costs of layers and conversions that explain
// their times best. A layer alone says what it takes with the conversions and the changes of
// layout around it; a pair, less the two alone, says what one between them takes, which
// it lacks. So the equations of all segments together have one solution.
#include "engine/tune.h"

#include "tare/error.h"
#include "tare/model_files.h"
#include "tare/process.h"

#include "engine/hasty_config.h"
#include "engine/least_squares.h"
#include "engine/made_up_samples.h"
#include "engine/model_inputs.h"
#include "engine/segments.h"
#include "engine/silu_fusion.h"
#include "engine/temporary_files.h"
#include "engine/timing.h"
#include "engine/tuning_cache.h"
#include "lower/forms/engine_wishes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>

namespace tare {
namespace {

using Clock = std::chrono::steady_clock;

MeasureOptions of_a_segment() {
  return {.seconds = 0.3, .precision = 0.02, .progress = {}};
}

struct MeasuredSegment {
  const Segment* segment = nullptr;
  double elements = 0;  ///< of operands and result
  double images = 0;    ///< of those of rank 4, which change their layout
  std::size_t values = 0;
  SegmentTime time;
};

class SegmentTimer {
 public:
  SegmentTimer(Engine& engine, const Config& config, const Toolkit& toolkit)
      : engine_(engine),
        toolkit_(toolkit),
        config_(in_a_hurry(config)),
        target_(target_of(config, toolkit)) {
    config_.target = write_target_of_all(files_, config.target);
    config_.layers.clear();
    config_.objective = Objective::kLatency;
  }

  /// Nothing of one that the engine or its target does not take.
  std::optional<SegmentTime> time(const Graph& graph, std::size_t layers) {
    try {
      const ModelInputs inputs = complete_inputs(graph, {});
      const QuantizeResult result =
          quantize(graph, MadeUpSamples(inputs), config_, toolkit_, {.threads = 1});
      if (result.simulated.regions.size() != layers) {
        return std::nullopt;
      }
      const std::filesystem::path real = files_.next(".onnx");
      const std::filesystem::path integer = files_.next(".onnx");
      write_onnx(with_float_spelling(graph, target_), real);
      write_model(result, integer);
      const std::array models{engine_.load(real, inputs), engine_.load(integer, inputs)};
      const Timing timing = time_in_turn(engine_, models, of_a_segment());
      std::error_code ignored;
      for (const LoadedModel model : models) {
        engine_.unload(model);
      }
      std::filesystem::remove(real, ignored);
      std::filesystem::remove(integer, ignored);
      return SegmentTime{timing.of(0).median, timing.of(1).median};
    } catch (const Error& error) {
      if (engine_.is_broken() || error.code() == ErrorCode::kInternal ||
          error.code() == ErrorCode::kIo) {
        throw;
      }
      return std::nullopt;
    }
  }

 private:
  Engine& engine_;
  const Toolkit& toolkit_;
  TemporaryFiles files_;
  Config config_;
  Target target_;
};

/// The costs that explain the times of segments.
class CostFit {
 public:
  CostFit(const std::vector<MeasuredSegment>& measured, const ConversionCost& usual) {
    for (const MeasuredSegment& one : measured) {
      for (const std::string& layer : one.segment->layers) {
        layers_.emplace(layer, layers_.size());
      }
    }
    std::vector<MeasuredSum> sums;
    for (const MeasuredSegment& one : measured) {
      MeasuredSum floats{{{kCall, 1}, {kFloatLayout, one.images}}, one.time.floats, 1};
      MeasuredSum integers{{{kCall, 1},
                            {kConversion, static_cast<double>(one.values)},
                            {kElement, one.elements},
                            {kLayout, one.images}},
                           one.time.integers,
                           1};
      for (const std::string& layer : one.segment->layers) {
        floats.terms.emplace_back(of_layer(layer), 1);
        integers.terms.emplace_back(of_layer(layer) + 1, 1);
      }
      // Relative errors count.
      floats.weight = 1 / (floats.value * floats.value);
      integers.weight = 1 / (integers.value * integers.value);
      sums.push_back(std::move(floats));
      sums.push_back(std::move(integers));
    }
    measured_ = sums.size();
    // What the segments leave open is as it usually is.
    constexpr double kFaint = 1e-3;
    for (const auto& [unknown, value] :
         {std::pair(kConversion, usual.call), std::pair(kElement, usual.element),
          std::pair(kLayout, usual.layout), std::pair(kFloatLayout, usual.layout)}) {
      if (value > 0) {
        sums.push_back({{{unknown, 1}}, value, kFaint / (value * value)});
      }
    }
    costs_ = least_squares(sums, kLayers + 2 * layers_.size());
    for (std::size_t i = 0; i < measured_; ++i) {
      double sum = 0;
      for (const auto& [unknown, factor] : sums[i].terms) {
        sum += factor * costs_[unknown];
      }
      errors_.push_back(std::abs(sum / sums[i].value - 1));
    }
  }

  double median_error() const { return errors_.empty() ? 0 : median_interval(errors_).value; }
  ConversionCost conversion() const {
    return {.call = costs_[kConversion],
            .element = costs_[kElement],
            .layout = costs_[kLayout] + costs_[kFloatLayout]};
  }
  SegmentTime layer(const std::string& shape) const {
    return {costs_[of_layer(shape)], costs_[of_layer(shape) + 1]};
  }
  const std::map<std::string, std::size_t>& layers() const { return layers_; }

 private:
  enum : std::size_t { kCall, kConversion, kElement, kLayout, kFloatLayout, kLayers };

  std::size_t of_layer(const std::string& shape) const {
    return kLayers + 2 * layers_.at(shape);
  }

  std::map<std::string, std::size_t> layers_;
  std::vector<double> costs_;
  std::vector<double> errors_;
  std::size_t measured_ = 0;
};

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

std::string microseconds(double nanoseconds) {
  return number(nanoseconds / 1e3) + " us";
}

std::string comment(const std::string& text) {
  return "# " + printable(text) + "\n";
}

std::string yaml_truth(bool value) {
  return value ? "true" : "false";
}

std::string target_text(const TunedTarget& tuned, const Config& config, const Target& target,
                        const CostFit& fit, const std::vector<MeasuredSegment>& measured) {
  const std::string base = is_target_file(config.target)
                               ? std::filesystem::absolute(config.target).string()
                               : config.target;
  std::string text =
      comment("Measured by `tare tune` in " + tuned.engine.name + " " + tuned.engine.version +
              ", " + std::to_string(tuned.engine.threads) + " thread" +
              (tuned.engine.threads == 1 ? "" : "s") + ", on " + tuned.engine.processor) +
      "extends: " + yaml_scalar(base) + "\n" +
      "summary: " + yaml_scalar(target.summary + ", as measured") + "\n" +
      (config.fuse_silu ? "fuse_silu: " + yaml_truth(*config.fuse_silu) + "\n" : "") +
      comment("Nanoseconds. These costs fit the times of " + std::to_string(tuned.segments) +
              " segments in float and on integers, " + std::to_string(tuned.cached) +
              " of them measured before, with a median error of " + number(100 * tuned.error) +
              " %.");
  const ConversionCost conversion = fit.conversion();
  text += "conversion: {call: " + number(conversion.call) +
          ", element: " + number(conversion.element) + ", dequantized: 0" +
          ", layout: " + number(conversion.layout) + "}\n";
  if (!fit.layers().empty()) {
    text += "costs:\n";
  }
  for (const MeasuredSegment& one : measured) {
    if (one.segment->layers.size() != 1) {
      continue;
    }
    const std::string& shape = one.segment->layers[0];
    const SegmentTime cost = fit.layer(shape);
    text += "  # " + std::to_string(one.segment->count) + " in the network; alone " +
            microseconds(one.time.floats) + " in float, " + microseconds(one.time.integers) +
            " on integers with conversions\n  - {op: " + yaml_scalar(shape) +
            ", float: " + number(cost.floats) + ", integer: " + number(cost.integers) + "}\n";
  }
  return text;
}

/// The same layers take another time where what they compute is spelled otherwise.
std::string cache_key(const Segment& segment, const Graph& graph, const Config& config) {
  const bool has_sigmoid =
      std::any_of(segment.nodes.begin(), segment.nodes.end(),
                  [&](NodeId id) { return graph.node(id).op == "Sigmoid"; });
  return segment.shape + (has_sigmoid && !config.fuse_silu.value_or(true) ? ", unfused" : "");
}

}  // namespace

TunedTarget tune_in(Engine& engine, const Graph& model, const Config& given,
                    const Toolkit& toolkit, const std::filesystem::path& cache_folder,
                    Clock::time_point deadline,
                    const std::function<void(std::size_t done, std::size_t total)>& progress) {
  TunedTarget tuned{.text = {}, .engine = engine.facts()};
  const Config config =
      with_faster_silu(engine, model, complete_inputs(model, {}), given, toolkit);
  TemporaryFiles files;
  Config all = in_a_hurry(config);
  all.target = write_target_of_all(files, config.target);
  all.objective = Objective::kLatency;
  const Target target = target_of(config, toolkit);
  const SimulatedGraph simulated =
      simulate(prepare(model, toolkit), all, target_of(all, toolkit), toolkit.patterns);
  const Graph& graph = simulated.source;
  const std::vector<Segment> found = segments(simulated);
  const GraphCutter cutter(graph);
  SegmentTimer timer(engine, config, toolkit);
  TuningCache cache(engine.facts(), cache_folder);
  std::vector<MeasuredSegment> measured;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Segment& segment = found[i];
    const std::string key = cache_key(segment, graph, config);
    auto time = cache.find(key);
    if (time) {
      ++tuned.cached;
    } else if (Clock::now() < deadline) {
      time = timer.time(segment_graph(cutter, graph, segment), segment.layers.size());
      if (time) {
        cache.add(key, *time);
      }
    }
    if (progress) {
      progress(i + 1, found.size());
    }
    if (!time) {
      continue;
    }
    MeasuredSegment one{.segment = &segment, .time = *time};
    std::vector<ValueId> values = segment.operands;
    values.push_back(segment.result);
    one.values = values.size();
    for (const ValueId value : values) {
      const Shape& shape = graph.type(value).shape;
      const auto count = static_cast<double>(element_count(shape));
      one.elements += count;
      constexpr std::size_t kImageRank = 4;
      one.images += shape.size() == kImageRank ? count : 0;
    }
    measured.push_back(one);
  }
  cache.save();
  const CostFit fit(measured, target.conversion);
  tuned.segments = measured.size();
  tuned.error = fit.median_error();
  tuned.layers = fit.layers().size();
  tuned.text = target_text(tuned, config, target, fit, measured);
  return tuned;
}

TunedTarget tune(const Graph& model, const Config& config, const Toolkit& toolkit,
                 const TuneOptions& options) {
  const auto engine = open_engine(options.engine);
  return tune_in(*engine, model, config, toolkit, options.cache,
                 Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                    std::chrono::duration<double>(options.seconds)),
                 options.progress);
}

}  // namespace tare
