#pragma once

#include "tare/graph.h"

#include "support/graphs.h"
#include "support/random/random.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tare::test {

/// A target whose convolutions take so many times as long in float on "avx2", and nothing else
/// any time.
inline std::string faster_on_integers(const std::string& times, const std::string& slowdown) {
  return "extends: ort-cpu\n"
         "processors:\n"
         "  - name: avx2\n"
         "    slowdown: " +
         slowdown +
         "\n"
         "    conversion: {call: 1}\n"
         "    costs: [{op: Conv, float: " +
         times + ", integer: 1}]\n";
}
inline std::string twice_as_fast(const std::string& slowdown) {
  return faster_on_integers("2", slowdown);
}

/// Convolutions of 8 channels one behind the other.
class ConvChain {
 public:
  static constexpr std::int64_t kChannels = 8;
  static constexpr std::int64_t kSamples = 32;

  /// Adds `layers` of the same size and time.
  void add_layers(int layers) {
    for (int layer = 0; layer < layers; ++layer) {
      add_layer(random.tensor({kChannels, kChannels, 3, 3}));
    }
  }

  void add_layer(Tensor weights) {
    const std::int64_t pad = weights.shape()[2] / 2;
    const ValueId w = graph.add_constant(graph.unique_name("w"), std::move(weights));
    end_ = add(graph, "Conv", {end_, w}, {1, kChannels, kSize, kSize},
               {{"pads", std::vector<std::int64_t>{pad, pad, pad, pad}}});
    graph.set_outputs({end_});
  }

 private:
  static constexpr std::int64_t kSize = 6;

 public:
  Random random{1};
  Graph graph;
  Tensor x = random.tensor({kSamples, kChannels, kSize, kSize});

 private:
  ValueId end_ = graph.add_input("x", f32({1, kChannels, kSize, kSize}));
};

/// No layers yet. One channel of the input has so many times the range of the others, whose
/// steps are too wide for them.
inline ConvChain with_wide_channel(float range) {
  ConvChain chain;
  const auto values = chain.x.mutable_view<float>();
  const std::size_t channel = values.size() / (ConvChain::kSamples * ConvChain::kChannels);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] *= i / channel % ConvChain::kChannels == 0 ? range : 1.F;
  }
  return chain;
}

/// Ten layers of the same time, the first of which causes most of the error.
inline ConvChain with_sensitive_layer() {
  constexpr float kRange = 16;
  ConvChain chain = with_wide_channel(kRange);
  Tensor weights = chain.random.tensor({ConvChain::kChannels, ConvChain::kChannels, 3, 3});
  const auto w = weights.mutable_view<float>();
  for (std::size_t i = 0; i < w.size(); ++i) {
    w[i] /= i / 9 % ConvChain::kChannels == 0 ? kRange : 1.F;
  }
  chain.add_layer(std::move(weights));
  chain.add_layers(9);
  return chain;
}

}  // namespace tare::test
