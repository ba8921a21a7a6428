#include "tare/error.h"
#include "tare/graph.h"
#include "tare/quantize.h"

#include "support/files/samples_in_memory.h"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr std::size_t kSamples = 64;

SamplesInMemory numbered_samples() {
  Tensor values(DType::kFloat32, {kSamples, 4});
  for (std::size_t i = 0; i < kSamples; ++i) {
    values.mutable_view<float>()[4 * i] = static_cast<float>(i);
  }
  return SamplesInMemory({{"x", std::move(values)}});
}

/// The first sample comes when others were asked for, and then nobody has asked for a while;
/// one may not come at all.
class LateSamples final : public Dataset {
 public:
  explicit LateSamples(std::size_t broken = kSamples) : broken_(broken) {}

  std::size_t size() const override { return samples_.size(); }
  const std::vector<DatasetInput>& inputs() const override { return samples_.inputs(); }
  std::optional<std::vector<std::int64_t>> labels() const override { return std::nullopt; }
  Tensor read(const std::string& input, std::size_t first, std::size_t count) const override {
    ++reads_;
    if (first == 0) {
      // On a busy machine other threads take their time to begin.
      constexpr int kPatience = 100;
      std::size_t before = 0;
      for (int waits = 0; before != reads_ || (reads_ == 1 && waits < kPatience); ++waits) {
        before = reads_;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
      }
      reads_before_first_ = reads_ - 1;
    }
    if (first <= broken_ && broken_ < first + count) {
      throw Error(ErrorCode::kInvalidData, "sample " + std::to_string(broken_), "is broken");
    }
    return samples_.read(input, first, count);
  }

  std::size_t reads() const { return reads_; }
  std::size_t reads_before_first() const { return reads_before_first_; }

 private:
  SamplesInMemory samples_ = numbered_samples();
  std::size_t broken_;
  mutable std::atomic<std::size_t> reads_ = 0;
  mutable std::atomic<std::size_t> reads_before_first_ = 0;
};

Graph identity() {
  return parse(
      "graph \"g\" opset 17 (%x : f32[1,4]) -> (%y) {\n"
      "%y = Relu(%x) : f32[1,4]\n"
      "}");
}

TEST(RunDataset, HoldsFewResultsHoweverLateTheFirstOnesAre) {
  constexpr int kWorkers = 4;
  const LateSamples data;
  std::vector<float> observed;
  run_dataset(identity(), data, kWorkers, 0, [&](std::size_t run, std::vector<Tensor> results) {
    EXPECT_EQ(run, observed.size());
    observed.push_back(results[0].view<float>()[0]);
  });
  ASSERT_EQ(observed.size(), kSamples);
  for (std::size_t i = 0; i < kSamples; ++i) {
    EXPECT_EQ(observed[i], static_cast<float>(i));
  }
  // Chunks of two samples each; the others could all have been read while the first was late.
  EXPECT_GT(data.reads_before_first(), 0U);
  EXPECT_LT(data.reads_before_first(), 2U * kWorkers);
}

TEST(RunDataset, EndsWithTheErrorOfASampleThatOthersWaitFor) {
  const LateSamples data(0);
  try {
    run_dataset(identity(), data, 4, 0, [](std::size_t, const std::vector<Tensor>&) {
      FAIL() << "no result can leave before the first one";
    });
    FAIL() << "the sample is broken";
  } catch (const Error& error) {
    EXPECT_EQ(error.faults().front().where, "sample 0");
  }
  EXPECT_LE(data.reads(), 8U);
}

/// Counts its calls and fails, long enough after it was called that other threads wait for it.
struct Failing {
  int calls = 0;

  void operator()() {
    ++calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    throw std::runtime_error("enough");
  }
};

TEST(RunDataset, GivesNothingMoreToWhoFailedToTakeIt) {
  const SamplesInMemory data = numbered_samples();
  Failing take;
  EXPECT_THROW(run_dataset(identity(), data, 4, 0,
                           [&](std::size_t, const std::vector<Tensor>&) { take(); }),
               std::runtime_error);
  EXPECT_EQ(take.calls, 1);
}

TEST(RunDataset, TellsProgressOnceThatEndsTheWork) {
  const SamplesInMemory data = numbered_samples();
  Failing progress;
  EXPECT_THROW(run_dataset(
                   identity(), data, 4, 0, [](std::size_t, const std::vector<Tensor>&) {},
                   [&](std::size_t, std::size_t) { progress(); }),
               std::runtime_error);
  EXPECT_EQ(progress.calls, 1);
}

TEST(Calibrate, TellsProgressOnceThatEndsTheWork) {
  const SamplesInMemory data = numbered_samples();
  Failing progress;
  EXPECT_THROW(
      quantize(identity(), data, {}, Toolkit::builtin(),
               {.threads = 4, .progress = [&](std::size_t, std::size_t) { progress(); }}),
      std::runtime_error);
  EXPECT_EQ(progress.calls, 1);
}

}  // namespace
}  // namespace tare::test
