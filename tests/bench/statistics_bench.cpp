// Elements per second of what every activation goes through during calibration.
#include "tare/execute.h"
#include "tare/statistics.h"

#include "random_values.h"

#include <benchmark/benchmark.h>

namespace tare::bench {
namespace {

/// 56x56 positions of 96 channels: a layer of a small image network.
const Shape kShape{1, 96, 56, 56};

void count_elements(benchmark::State& state, std::size_t each) {
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(each));
}

void summary(benchmark::State& state) {
  const auto values =
      random_values(static_cast<std::size_t>(element_count(kShape)), state.range(0) != 0);
  TensorStatistics observed;
  for (auto _ : state) {
    observed.observe(values);
  }
  count_elements(state, values.size());
}
BENCHMARK(summary)->ArgName("rectified")->Arg(0)->Arg(1);

void summary_with_known_extremes(benchmark::State& state) {
  const auto values =
      random_values(static_cast<std::size_t>(element_count(kShape)), state.range(0) != 0);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  TensorStatistics observed;
  for (auto _ : state) {
    observed.observe(values, {*low, *high});
  }
  count_elements(state, values.size());
}
BENCHMARK(summary_with_known_extremes)->ArgName("rectified")->Arg(0)->Arg(1);

void channels(benchmark::State& state) {
  const auto values = random_values(static_cast<std::size_t>(element_count(kShape)));
  const TensorType type{.dtype = DType::kFloat32, .shape = kShape, .quant = {}, .point = {}};
  const TensorView view{&type, reinterpret_cast<const std::byte*>(values.data()),
                        state.range(0) != 0};
  ChannelStatistics observed;
  for (auto _ : state) {
    benchmark::DoNotOptimize(observed.observe(view));
  }
  count_elements(state, values.size());
}
BENCHMARK(channels)->ArgName("channels_last")->Arg(0)->Arg(1);

}  // namespace
}  // namespace tare::bench
