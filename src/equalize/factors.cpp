// Cross-layer equalization by ranges of activations. Nagel et al. (2019, section 4.1) level the
// weight ranges of two layers, which matters where weights have one scale for all channels.
// Here weights mostly have a scale for each output channel, and it is activations whose
// channels share one. So a channel is divided, by as much as the weights that multiply it can
// take: those of a depthwise layer have a scale for each channel, those of others get coarser
// for all. And only where a trial on other samples says that it helps
// (docs/decisions/0019-equalization-is-tried.md).
//
// Cost: up to half of the samples, and 64, through the float network, a quarter of these
// through the float and both quantized ones, or half where the quarter leaves it open. Nothing
// where no channel can be divided.
#include "tare/statistics.h"

#include "calibrate/selection/trial.h"
#include "equalize/awq_factors.h"
#include "equalize/channel_classes.h"
#include "equalize/class_facts.h"
#include "equalize/equalize.h"
#include "equalize/smoothquant_factors.h"
#include "equalize/version_trial.h"
#include "execute/run/feed.h"
#include "graph/operators/scores.h"
#include "simulate/settings.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tare {
namespace {

/// Samples whose channel ranges are observed; the final ranges come from all. Fewer would hide
/// how far an amplified channel can reach. As many behind these are held out, and factors are
/// tried on them.
constexpr std::size_t kMostSamples = 32;
/// Of few samples a quarter each, or all of this takes longer than to calibrate on them.
constexpr std::size_t kOneIn = 4;
constexpr std::size_t kUsualSamples = 16;
/// Of fewer factors do not come.
constexpr std::size_t kLeastInAll = kMostSamples + kUsualSamples;
/// Of large networks, which have channels of many values, fewer will do.
constexpr std::size_t kLeastSamples = 8;
constexpr double kMultiplications = 3.2e10;

/// The part of its logarithm that a channel makes up for where its weights have a scale of
/// their own, so that they take whatever it is. Not all of it, since few samples say little
/// about how far a channel can reach.
constexpr double kPart = 0.75;
/// Nearly dead channels are not amplified further, for the same reason, and weights next to 0
/// do not count as less than that.
constexpr double kLeast = 1.0 / 64;

/// What a channel is divided by. Where its weights share scales with others, both sides get the
/// same part of their ranges, as in SmoothQuant (Xiao et al., 2023, equation 4 with the
/// migration strength 1/2).
float factor_of(const ClassFacts& facts) {
  if (facts.is_fixed || facts.range <= 0) {
    return 1;
  }
  const double range = std::max(facts.range, kLeast);
  return static_cast<float>(facts.weights > 0
                                ? std::sqrt(range / std::max(facts.weights, kLeast))
                                : std::pow(range, kPart));
}

/// Whether any layer may give out factors at all.
bool has_free_channels(const Graph& graph, const ChannelClasses& classes) {
  const std::vector<NodeId> nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    if (!classes.takes_factors(graph.node(id))) {
      return false;
    }
    const auto own = classes.of(graph.node(id).outputs[0]);
    return std::any_of(own.begin(), own.end(), [](const auto& c) { return c.has_value(); });
  });
}

ChannelFactors factors_for(const SimulatedGraph& simulated, const Statistics& statistics,
                           const ChannelClasses& classes) {
  const Graph& graph = simulated.source;
  const std::vector<ClassFacts> facts = class_facts(simulated, statistics, classes);
  ChannelFactors result;
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    if (!classes.takes_factors(node)) {
      continue;
    }
    std::vector<float> factors;
    for (const auto& own : classes.of(node.outputs[0])) {
      factors.push_back(own ? factor_of(facts[*own]) : 1.0F);
    }
    if (std::any_of(factors.begin(), factors.end(), [](float f) { return f != 1; })) {
      result.emplace(graph.name(node.outputs[0]), std::move(factors));
    }
  }
  return result;
}

/// The factor of each class.
std::vector<float> by_class(const ChannelFactors& factors, const Graph& graph,
                            const ChannelClasses& classes) {
  std::vector<float> result(classes.count(), 1.0F);
  for (const auto& [name, of_channels] : factors) {
    const auto own = classes.of(*graph.find_value(name));
    for (std::size_t c = 0; c < own.size(); ++c) {
      if (own[c]) {
        result[*own[c]] = of_channels[c];
      }
    }
  }
  return result;
}

/// What the equalized network would show of a value, as far as its extremes and means go, whose
/// channels are divided by these factors.
void divide(std::span<const float> factors, TensorStatistics& values,
            ChannelStatistics& channels) {
  std::vector<float> lows = channels.lows();
  std::vector<float> highs = channels.highs();
  const std::vector<double> means = channels.means();
  std::vector<ExactSum> sums(factors.size());
  for (std::size_t c = 0; c < factors.size(); ++c) {
    lows[c] /= factors[c];
    highs[c] /= factors[c];
    sums[c].add(means[c] * static_cast<double>(channels.elements()) /
                static_cast<double>(factors[c]));
  }
  values = {};
  values.observe(std::array{*std::min_element(lows.begin(), lows.end()),
                            *std::max_element(highs.begin(), highs.end())});
  channels = ChannelStatistics::of(channels.elements(), std::move(lows), std::move(highs),
                                   std::move(sums));
}

Statistics divided(Statistics observed, const ChannelFactors& factors, const Graph& graph,
                   const ChannelClasses& classes) {
  const std::vector<float> of_classes = by_class(factors, graph, classes);
  for (auto& [name, channels] : observed.channels) {
    const auto own = classes.of(*graph.find_value(name));
    std::vector<float> of_channels;
    for (const auto& c : own) {
      of_channels.push_back(c ? of_classes[*c] : 1.0F);
    }
    if (!own.empty() && own.size() == channels.channels()) {
      divide(of_channels, observed.values.at(name), channels);
    }
  }
  return observed;
}

/// Factors between layers whose channels are axis 1.
ChannelFactors cross_layer_factors(const VersionTrial& trial, Statistics* found) {
  const SimulatedGraph plain = trial.simulate(trial.graph);
  const Settings settings(plain.source, trial.config, trial.target);
  const ChannelClasses classes(plain.source,
                               [&](const Node& node) { return settings.equalizes(node); });
  if (!has_free_channels(plain.source, classes)) {
    return {};
  }
  Statistics observed = collect(plain, trial.data, trial.fitting);
  ChannelFactors factors = factors_for(plain, observed, classes);
  if (factors.empty()) {
    return factors;
  }
  const SimulatedGraph equal =
      trial.simulate(equalize(trial.graph, factors, trial.fitting.threads));
  const Statistics all = collect(plain, trial.data, trial.all(), std::move(observed));
  if (found != nullptr) {
    *found = all;
  }
  Statistics after_all = divided(all, factors, plain.source, classes);
  after_all.visible.clear();  // which the trial does not look at
  after_all.model = model_digest(equal.source);
  return trial.is_clearly_better({equal, after_all}, {plain, all}) ? factors : ChannelFactors{};
}

}  // namespace

ChannelFactors equalization_factors(const Graph& whole, const Dataset& data,
                                    const Config& config, const Target& target,
                                    std::span<const QuantPattern> patterns,
                                    std::span<const CalibratorInfo> calibrators,
                                    const CalibrateOptions& options, Statistics* observed) {
  const Feed feed(whole, data, options.samples);
  if (feed.samples() < std::max(kLeastInAll, 2 * in_whole_runs(kUsualSamples, feed.batch()))) {
    return {};
  }
  const std::size_t usual = std::clamp(feed.samples() / kOneIn, kUsualSamples, kMostSamples);
  const std::size_t fitting =
      in_whole_runs(runs_within(kMultiplications * static_cast<double>(feed.batch()), whole,
                                kLeastSamples, usual),
                    feed.batch());
  const std::size_t end = std::min(feed.samples(), 2 * fitting);
  const Graph scored = up_to_scores(whole);
  VersionTrial trial{.reference = scored,
                     .graph = scored,
                     .data = data,
                     .config = config,
                     .target = target,
                     .patterns = patterns,
                     .calibrators = calibrators,
                     .fitting = {.threads = options.threads,
                                 .samples = fitting,
                                 .communicator = options.communicator},
                     .holdout = {.threads = options.threads,
                                 .samples = end,
                                 .first = fitting,
                                 .communicator = options.communicator}};
  ChannelFactors factors = cross_layer_factors(trial, observed);
  trial.graph = equalize(std::move(trial.graph), factors, options.threads);
  factors.merge(find_smoothquant_factors(trial, factors.empty() ? observed : nullptr));
  factors.merge(find_awq_factors(trial));  // of other values: those that are not rounded
  return factors;
}

}  // namespace tare
