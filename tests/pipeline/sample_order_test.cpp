#include "support/files/digits.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// The samples of another data set in random order.
class Shuffled final : public Dataset {
 public:
  Shuffled(const Dataset& data, unsigned seed) : data_(data), order_(data.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::shuffle(order_.begin(), order_.end(), std::mt19937(seed));
  }

  std::size_t size() const override { return data_.size(); }
  const std::vector<DatasetInput>& inputs() const override { return data_.inputs(); }
  Tensor read(const std::string& input, std::size_t first, std::size_t count) const override {
    const Tensor all = data_.read(input, 0, size());
    Shape shape = all.shape();
    shape[0] = static_cast<std::int64_t>(count);
    Tensor result(all.dtype(), shape);
    const std::size_t each = all.byte_size() / size();
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(result.mutable_data() + i * each, all.data() + order_[first + i] * each,
                  each);
    }
    return result;
  }
  std::optional<std::vector<std::int64_t>> labels() const override { return std::nullopt; }

 private:
  const Dataset& data_;
  std::vector<std::size_t> order_;
};

constexpr std::array<int, 4> kThreads{1, 2, 3, 7};

TEST(SampleOrder, DoesNotShowInStatistics) {
  const Digits digits;
  const Statistics in_order = collect(digits.simulated, *digits.data);
  for (const int threads : kThreads) {
    const Shuffled shuffled(*digits.data, static_cast<unsigned>(threads));
    EXPECT_EQ(collect(digits.simulated, shuffled, {.threads = threads}), in_order) << threads;
  }
}

TEST(SampleOrder, DoesNotShowInTheResultOfTheIndependentSchedule) {
  const Digits digits;
  Config config;
  config.schedule = Schedule::kIndependent;
  config.activations.calibrator.name = "percentile";
  const auto quantized = [&](const Dataset& data, int threads) {
    return quantize(digits.model, data, config, Toolkit::builtin(), {.threads = threads});
  };
  const QuantizeResult in_order = quantized(*digits.data, 0);
  for (const int threads : kThreads) {
    const QuantizeResult result =
        quantized(Shuffled(*digits.data, static_cast<unsigned>(threads)), threads);
    EXPECT_EQ(result.table, in_order.table) << threads;
    EXPECT_EQ(result.integer, in_order.integer) << threads;
  }
}

}  // namespace
}  // namespace tare::test
