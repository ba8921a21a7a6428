// How much of their ranges the channels of a network and the weights that multiply them need.
// Cost: two passes over the weights behind channels that can be divided.
#include "equalize/class_facts.h"

#include "tare/graph.h"

#include "graph/operators/product.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

namespace tare {
namespace {

/// Notes how much of the points' ranges the classes need.
void note_ranges(const SimulatedGraph& simulated, const Statistics& statistics,
                 const ChannelClasses& classes, std::vector<ClassFacts>& facts) {
  for (const QuantPoint& point : simulated.points) {
    const auto observed = statistics.channels.find(point.name);
    const auto own = classes.of(point.value);
    if (point.role != Role::kActivation || own.empty() ||
        observed == statistics.channels.end() || observed->second.channels() != own.size()) {
      continue;
    }
    const std::vector<float>& lows = observed->second.lows();
    const std::vector<float>& highs = observed->second.highs();
    double low = std::min(0.0F, *std::min_element(lows.begin(), lows.end()));
    double high = std::max(0.0F, *std::max_element(highs.begin(), highs.end()));
    if (point.spec.symmetric) {
      high = std::max(high, -low);
      low = -high;
    }
    for (std::size_t c = 0; c < own.size(); ++c) {
      if (own[c]) {
        const double share = std::max(low < 0 ? static_cast<double>(lows[c]) / low : 0,
                                      high > 0 ? static_cast<double>(highs[c]) / high : 0);
        ClassFacts& of_class = facts[*own[c]];
        of_class.range = std::max(of_class.range, share);
        of_class.is_fixed = of_class.is_fixed || point.calibrator.name == "fixed";
      }
    }
  }
}

/// What is known of a scale of weights.
struct WeightScale {
  float largest = 0;  ///< magnitude
  std::optional<std::size_t> channel{};
  bool is_shared = false;  ///< by weights of several channels
};

/// Notes how much of the range of a scale the weights that multiply a channel have.
void note_weights(const SimulatedGraph& simulated, const ChannelClasses& classes,
                  std::vector<ClassFacts>& facts) {
  const Graph& graph = simulated.source;
  for (const QuantPoint& point : simulated.points) {
    if (point.role != Role::kWeight || !point.reader ||
        !classes.takes_factors(graph.node(*point.reader))) {
      continue;
    }
    const Node& node = graph.node(*point.reader);
    const Tensor& constant = *graph.constant(point.value);
    const auto weights = constant.view<float>();
    const WeightOperands operands(node, constant.shape());
    const WeightResults results(node, constant.shape());
    const auto own = classes.of(node.inputs[0]);
    const bool has_classes =
        std::any_of(own.begin(), own.end(), [](const auto& c) { return c.has_value(); });
    if (operands.count() != own.size() || !has_classes) {
      continue;
    }
    const bool is_per_result = point.spec.granularity == Granularity::kPerAxis;
    std::vector<WeightScale> scales(is_per_result ? results.count() : 1);
    const auto for_each = [&](const auto& f) {
      ChannelWalk operand = operands.walk();
      ChannelWalk result = results.walk();
      for (const float weight : weights) {
        f(std::abs(weight), operand.channel(), scales[is_per_result ? result.channel() : 0]);
        operand.next();
        result.next();
      }
    };
    for_each([](float weight, std::size_t channel, WeightScale& scale) {
      scale.largest = std::max(scale.largest, weight);
      scale.is_shared = scale.is_shared || scale.channel.value_or(channel) != channel;
      scale.channel = channel;
    });
    for_each([&](float weight, std::size_t channel, const WeightScale& scale) {
      if (own[channel] && scale.is_shared && scale.largest > 0) {
        double& share = facts[*own[channel]].weights;
        share = std::max(share, static_cast<double>(weight / scale.largest));
      }
    });
  }
}

}  // namespace

std::vector<ClassFacts> class_facts(const SimulatedGraph& simulated,
                                    const Statistics& statistics,
                                    const ChannelClasses& classes) {
  std::vector<ClassFacts> result(classes.count());
  note_ranges(simulated, statistics, classes, result);
  note_weights(simulated, classes, result);
  return result;
}

}  // namespace tare
