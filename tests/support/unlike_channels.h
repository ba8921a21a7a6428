#pragma once

#include "tare/config.h"
#include "tare/quant_table.h"
#include "tare/quantize.h"
#include "tare/statistics.h"

#include "equalize/equalize.h"
#include "support/files/samples_in_memory.h"
#include "support/graphs.h"
#include "support/random/random.h"

#include <optional>
#include <vector>

namespace tare::test {

/// Two layers with a Relu between, or a Clip from 0 to a bound. Of the eight channels there
/// every other one reaches only `reach` as far, and the second layer multiplies it by weights
/// `weight` times as large. The samples and the first layer's weights, one to a channel, are
/// integers without any error.
struct UnlikeChannels {
  static constexpr std::int64_t kChannels = 8;
  static constexpr const char* kFirst = "Conv";  ///< result of the first layer

  UnlikeChannels(float reach, float weight, std::int64_t batch = 1,
                 std::optional<float> bound = std::nullopt) {
    Random random(7);
    Tensor first_weights(DType::kFloat32, {kChannels, 4, 1, 1});
    Tensor second_weights = random.tensor({4, kChannels, 1, 1});
    for (std::size_t c = 0; c < kChannels; ++c) {
      const bool odd = c % 2 == 1;
      first_weights.mutable_view<float>()[c * 4 + c / 2] = odd ? -reach : 1;
      for (std::size_t k = 0; k < 4; ++k) {
        second_weights.mutable_view<float>()[k * kChannels + c] *= odd ? weight : 1;
      }
    }
    Tensor samples(DType::kFloat32, {kSamples, 4, 6, 6});
    for (float& value : samples.mutable_view<float>()) {
      value = static_cast<float>(random.integer(-128, 127));
    }
    const Shape outside{batch, 4, 6, 6};
    const Shape inside{batch, kChannels, 6, 6};
    const ValueId x = graph.add_input("x", f32(outside));
    const ValueId w1 = graph.add_constant("w1", first_weights);
    const ValueId w2 = graph.add_constant("w2", second_weights);
    const ValueId first = add(graph, "Conv", {x, w1}, inside);
    const auto number = [&](float value) {
      return graph.add_constant(graph.unique_name("c"), Tensor::of<float>({}, {value}));
    };
    const ValueId cut = bound ? add(graph, "Clip", {first, number(0), number(*bound)}, inside)
                              : add(graph, "Relu", {first}, inside);
    graph.set_outputs({add(graph, "Conv", {cut, w2}, outside)});
    data = SamplesInMemory({{"x", samples}});
  }

  /// Everything on integers, ranges as observed.
  static Config config() {
    Config result;
    result.objective = Objective::kCoverage;
    result.activations.calibrator.name = "max";
    return result;
  }
  QuantizeResult quantized(const Config& config, const CalibrateOptions& options = {}) const {
    return quantize(graph, data, config, Toolkit::builtin(), options);
  }
  ChannelFactors factors(const Config& config = UnlikeChannels::config()) const {
    return equalization_factors(graph, data, config, read_target(config.target),
                                Toolkit::builtin().patterns, Toolkit::builtin().calibrators);
  }

  static constexpr std::int64_t kSamples = 80;
  Graph graph;
  SamplesInMemory data{{{"x", Tensor(DType::kFloat32, {1})}}};
};

}  // namespace tare::test
