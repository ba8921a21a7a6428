#include "support/files/digits.h"
#include "support/files/files.h"
#include "support/files/folder.h"
#include "support/files/samples_in_memory.h"

#include <array>
#include <atomic>
#include <csignal>
#include <random>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

namespace tare::test {
namespace {

class CollectResumably : public InFolder {
 protected:
  Statistics undisturbed() const { return collect(digits_.simulated, *digits_.data); }

  /// Stops after about that many chunks of samples.
  Statistics stopped_after(int chunks) const {
    std::atomic<int> left = chunks;
    CalibrateOptions options{.threads = 2};
    options.stop = [&] { return left-- <= 0; };
    return collect_resumably(digits_.simulated, *digits_.data, options, checkpoint());
  }

  Statistics finished() const {
    return collect_resumably(digits_.simulated, *digits_.data, {.threads = 2}, checkpoint());
  }

  /// Works in a process of its own, with a checkpoint after every chunk of samples, and kills
  /// it some time after it has seen that many.
  void kill_after(std::size_t samples, std::chrono::microseconds delay) const {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      CalibrateOptions options{.threads = 1};  // a fork has no others
      options.progress = [&](std::size_t observed, std::size_t) {
        if (observed >= samples && ::write(ends[1], "", 1) != 1) {
          ::_exit(1);
        }
      };
      (void)collect_resumably(digits_.simulated, *digits_.data, options,
                              {.file = file(), .interval = std::chrono::milliseconds(5)});
      ::_exit(0);
    }
    ::close(ends[1]);
    char byte = 0;
    EXPECT_EQ(::read(ends[0], &byte, 1), 1);
    std::this_thread::sleep_for(delay);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(ends[0]);
  }

  std::filesystem::path file() const { return path("s.h5.checkpoint"); }
  CollectCheckpoint checkpoint() const { return {.file = file()}; }

  const Digits digits_;
};

TEST_F(CollectResumably, GivesWhatAnUndisturbedPassGives) {
  EXPECT_EQ(finished(), undisturbed());
  EXPECT_EQ(file_count(), 0U);
}

TEST_F(CollectResumably, GoesOnFromWhereItStopped) {
  const Statistics whole = undisturbed();
  for (const int chunks : {1, 5, 11}) {
    const Statistics first = stopped_after(chunks);
    EXPECT_GT(first.samples, 0U);
    EXPECT_LT(first.samples, whole.samples);
    EXPECT_EQ(read_statistics(file()), first);
    const Statistics second = stopped_after(chunks);
    EXPECT_GT(second.samples, first.samples);
    EXPECT_EQ(finished(), whole) << chunks;
    EXPECT_EQ(file_count(), 0U);
  }
}

TEST_F(CollectResumably, SaysThatSamplesRepeatWhereverItStopped) {
  const Tensor all = digits_.data->read("image", 0, digits_.data->size());
  std::vector<float> values(all.view<float>().begin(), all.view<float>().end());
  values.insert(values.end(), values.begin(), values.begin() + 256);
  const SamplesInMemory data({{"image", Tensor::of<float>({201, 1, 16, 16}, values)}});
  for (const int chunks : {0, 4}) {
    std::atomic<int> left = chunks;
    CalibrationAudit audit;
    (void)collect_resumably(digits_.simulated, data,
                            {.threads = 2, .stop = [&] { return left-- <= 0; }}, checkpoint(),
                            &audit);
    EXPECT_TRUE(audit.warnings.empty());
    const Statistics whole =
        collect_resumably(digits_.simulated, data, {.threads = 2}, checkpoint(), &audit);
    EXPECT_EQ(audit.samples, whole.samples);
    EXPECT_EQ(audit.data, whole.data);
    ASSERT_EQ(audit.warnings.size(), 1U);
    EXPECT_EQ(
        audit.warnings[0].what,
        "1 of 201 are copies of earlier ones; the first is sample 200, a copy of sample 0");
  }
}

TEST_F(CollectResumably, DoesNotTrustACheckpointOfOtherSamples) {
  Statistics other = stopped_after(3);
  other.data ^= 1U;
  write_statistics(file(), other);
  EXPECT_EQ(finished(), undisturbed());
}

TEST_F(CollectResumably, DoesNotTrustACheckpointOfAnotherModel) {
  Statistics other = stopped_after(3);
  other.model ^= 1U;
  write_statistics(file(), other);
  EXPECT_EQ(finished(), undisturbed());
}

TEST_F(CollectResumably, DoesNotTrustACheckpointOfOtherValues) {
  Target target = read_target("ort-cpu");
  std::erase(target.patterns, "dense");
  const SimulatedGraph other =
      simulate(digits_.simulated.source, {}, target, Toolkit::builtin().patterns);
  const Statistics of_others = collect(other, *digits_.data, {.samples = 20});
  const Statistics whole = undisturbed();
  ASSERT_NE(of_others.values.size(), whole.values.size());
  write_statistics(file(), of_others);
  EXPECT_EQ(finished(), whole);
}

TEST_F(CollectResumably, IsDoneWhenStoppedAfterTheLastSample) {
  bool done = false;
  CalibrateOptions options{.threads = 1};
  options.progress = [&](std::size_t observed, std::size_t total) { done = observed == total; };
  options.stop = [&] { return done; };
  EXPECT_EQ(collect_resumably(digits_.simulated, *digits_.data, options, checkpoint()),
            undisturbed());
  EXPECT_EQ(file_count(), 0U);
}

TEST_F(CollectResumably, AdvancesHoweverShortTheInterval) {
  std::size_t rounds = 0;
  CalibrateOptions options{.threads = 1, .samples = 40};
  options.progress = [&](std::size_t, std::size_t) {
    rounds += std::filesystem::exists(file()) ? 1 : 0;
  };
  EXPECT_EQ(collect_resumably(digits_.simulated, *digits_.data, options,
                              {.file = file(), .interval = std::chrono::seconds(0)}),
            collect(digits_.simulated, *digits_.data, options));
  EXPECT_GT(rounds, 2U) << "no checkpoints on the way";
}

TEST_F(CollectResumably, GoesOnWhereverItWasKilled) {
  const Statistics whole = undisturbed();
  std::mt19937 random(5);
  int resumed = 0;
  for (std::size_t tenth = 0; tenth < 10; ++tenth) {
    const std::size_t samples = (tenth * 10 + random() % 10) * whole.samples / 100;
    kill_after(samples, std::chrono::microseconds(random() % 10000));
    resumed += std::filesystem::exists(file()) ? 1 : 0;
    EXPECT_EQ(finished(), whole) << samples;
  }
  EXPECT_GT(resumed, 0) << "there never was a checkpoint";
}

TEST_F(CollectResumably, StartsAnewFromADamagedCheckpoint) {
  write_bytes(file(), "no checkpoint");
  EXPECT_EQ(finished(), undisturbed());
}

}  // namespace
}  // namespace tare::test
