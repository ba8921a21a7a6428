// Counts what becomes of values that are rounded: storage values, saturation at either end, and
// numbers that become 0. One pass; a table of 256 or 65536 counts.
#include "compare/rounded_values.h"

#include "calibrate/statistics/statistics_bytes.h"
#include "graph/arithmetic/per_axis.h"
#include "graph/arithmetic/storage_type.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tare {
namespace {

/// Several tables take turns: a count that was just written would have to be waited for, and
/// most values are like their neighbours.
template <class T>
void count_storage(std::span<const T> storage, std::vector<std::uint64_t>& counts) {
  constexpr int kLowest = std::numeric_limits<T>::min();
  if constexpr (sizeof(T) > 1) {
    for (const T value : storage) {
      ++counts[static_cast<std::size_t>(static_cast<int>(value) - kLowest)];
    }
  } else {
    constexpr std::size_t kTables = 4;
    std::array<std::array<std::uint32_t, 256>, kTables> tables{};
    for (std::size_t i = 0; i < storage.size(); ++i) {
      ++tables[i % kTables][static_cast<std::size_t>(static_cast<int>(storage[i]) - kLowest)];
    }
    for (const auto& table : tables) {
      std::transform(table.begin(), table.end(), counts.begin(), counts.begin(),
                     [](std::uint32_t a, std::uint64_t b) { return a + b; });
    }
  }
}

struct Outside {
  std::uint64_t below = 0;
  std::uint64_t above = 0;
  std::uint64_t lost = 0;
};

Outside count_outside(std::span<const float> real, const QuantParams& params,
                      std::size_t channel) {
  const double scale = static_cast<double>(params.scale[channel]);
  const auto edge = [&](std::int64_t storage, double half) {
    return static_cast<float>(
        scale * (static_cast<double>(storage - params.zero_point[channel]) + half));
  };
  const float low = edge(params.range().low, -0.5);
  const float high = edge(params.range().high, 0.5);
  const auto half = static_cast<float>(scale / 2);
  std::uint64_t below = 0;
  std::uint64_t above = 0;
  std::uint64_t lost = 0;
  for (const float x : real) {
    below += x < low ? 1U : 0U;
    above += x > high ? 1U : 0U;
    lost += ((x != 0) & (std::abs(x) < half)) ? 1U : 0U;
  }
  return {below, above, lost};
}

}  // namespace

void RoundedValues::observe(const TensorView& real, const TensorView& storage,
                            std::size_t first_sample, std::size_t batch) {
  observed.observe(real, batch);
  error.observe(real, storage, first_sample, batch);
  const auto count = [&](const TensorView& x, const TensorView& q) {
    const QuantParams& params = *storage.type->quant;
    const auto values = x.elements<float>();
    for_each_slice(x.type->shape, params.axis,
                   [&](std::size_t channel, std::size_t first, std::size_t size) {
                     const Outside outside =
                         count_outside(values.subspan(first, size), params, channel);
                     below += outside.below;
                     above += outside.above;
                     lost += outside.lost;
                   });
    with_storage(q.type->dtype, [&](auto value) {
      using T = decltype(value);
      if constexpr (sizeof(T) <= 2) {
        counts.resize(std::size_t{1} << (8 * sizeof(T)));
        count_storage(q.elements<T>(), counts);
      }
    });
  };
  if (storage.type->quant->per_axis() && real.channels_last) {
    const Tensor x = real.tensor();
    const Tensor q = storage.tensor();
    count({real.type, x.data()}, {storage.type, q.data()});
  } else {
    count(real, storage);
  }
}

void RoundedValues::merge(const RoundedValues& other) {
  observed.merge(other.observed);
  visible.merge(other.visible);
  error.merge(other.error);
  below += other.below;
  above += other.above;
  lost += other.lost;
  counts.resize(std::max(counts.size(), other.counts.size()));
  std::transform(other.counts.begin(), other.counts.end(), counts.begin(), counts.begin(),
                 std::plus<>());
}

void RoundedValues::write(ByteWriter& writer) const {
  add(observed, writer);
  add(visible, writer);
  error.write(writer);
  writer.add(below);
  writer.add(above);
  writer.add(lost);
  writer.add_all(std::span<const std::uint64_t>(counts));
}

RoundedValues RoundedValues::read(ByteReader& reader) {
  RoundedValues result;
  result.observed = read_observed(reader);
  result.visible = read_tensor_statistics(reader);
  result.error = DeviationSums::read(reader);
  result.below = reader.get<std::uint64_t>();
  result.above = reader.get<std::uint64_t>();
  result.lost = reader.get<std::uint64_t>();
  result.counts = reader.get_all<std::uint64_t>();
  return result;
}

}  // namespace tare
