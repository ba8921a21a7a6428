#include "calibrate/samples_in_memory.h"
#include "io/folder.h"
#include "pipeline/digits.h"

#include <atomic>

namespace tare {
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

  std::filesystem::path checkpoint() const { return path("s.h5.checkpoint"); }

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
    EXPECT_EQ(read_statistics(checkpoint()), first);
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
  write_statistics(checkpoint(), other);
  EXPECT_EQ(finished(), undisturbed());
}

TEST_F(CollectResumably, DoesNotTrustACheckpointOfAnotherModel) {
  Statistics other = stopped_after(3);
  other.model ^= 1U;
  write_statistics(checkpoint(), other);
  EXPECT_EQ(finished(), undisturbed());
}

TEST_F(CollectResumably, StartsAnewFromADamagedCheckpoint) {
  write_bytes(checkpoint(), "no checkpoint");
  EXPECT_EQ(finished(), undisturbed());
}

}  // namespace
}  // namespace tare
