#include "tare/statistics.h"

#include "support/child_count.h"
#include "support/files/damaged.h"
#include "support/files/damaged_name.h"
#include "support/files/digits.h"
#include "support/files/files.h"
#include "support/files/folder.h"
#include "support/random/any_samples.h"

#include <array>
#include <random>

namespace tare::test {
namespace {

class StatisticsFile : public InFolder {
 protected:
  static const Statistics& some() {
    static const Statistics statistics = [] {
      const Digits digits;
      return collect(digits.simulated, *digits.data, {.samples = 20});
    }();
    return statistics;
  }

  std::string bytes_of_some() const {
    write_statistics(path("s.h5"), some());
    return bytes_of(path("s.h5"));
  }

  /// Whether the bytes are statistics; anything but an Error from them fails the test.
  bool reads(const std::string& bytes) const {
    write_bytes(path("damaged.h5"), bytes);
    return is_read(
        [&] { (void)read_statistics(path("damaged.h5"), {.trial_in_child = true}); });
  }
};

TEST_F(StatisticsFile, GivesBackWhatWasWritten) {
  write_statistics(path("s.h5"), some());
  EXPECT_EQ(read_statistics(path("s.h5")), some());
}

TEST_F(StatisticsFile, OfEqualStatisticsHasEqualBytes) {
  write_statistics(path("a.h5"), some());
  write_statistics(path("b.h5"), read_statistics(path("a.h5")));
  EXPECT_EQ(bytes_of(path("a.h5")), bytes_of(path("b.h5")));
}

RC_GTEST_FIXTURE_PROP(StatisticsFile, OfTheSameSamplesHasEqualBytesAndGivesThemBack, ()) {
  const auto samples = *any_samples();
  const Statistics statistics = statistics_in_parts(samples);
  write_statistics(path("a.h5"), statistics);
  write_statistics(path("b.h5"), statistics_in_parts(samples));
  RC_ASSERT(bytes_of(path("a.h5")) == bytes_of(path("b.h5")));
  RC_ASSERT(read_statistics(path("a.h5")) == statistics);
}

TEST_F(StatisticsFile, HoldsStatisticsOfNothing) {
  write_statistics(path("s.h5"), {});
  EXPECT_EQ(read_statistics(path("s.h5")), Statistics());
}

TEST_F(StatisticsFile, WithoutVisiblePartsIsOneThatAnOlderVersionWrote) {
  Statistics statistics = collected({-2, 1, 3});
  statistics.visible.clear();
  write_statistics(path("s.h5"), statistics);
  EXPECT_EQ(read_statistics(path("s.h5")), statistics);
  EXPECT_EQ(bytes_of(path("s.h5")).find("visible"), std::string::npos);
}

TEST_F(StatisticsFile, WithVisiblePartsOfOtherNumbersIsRefused) {
  const auto refused = [&](const Statistics& statistics) {
    write_statistics(path("s.h5"), statistics);
    return message_of([&] { (void)read_statistics(path("s.h5")); }, ErrorCode::kInvalidData);
  };
  Statistics more = collected({-2, 1, 3});
  more.visible["flat"].observe(std::array{1.0F});
  EXPECT_EQ(refused(more),
            "s.h5: the visible part of 'flat' counts 4, expected 3, as the value does");
  Statistics unknown = collected({-2, 1, 3});
  unknown.visible["other"].observe(std::array{1.0F});
  EXPECT_EQ(refused(unknown),
            "s.h5: the visible part of 'other' counts 1, expected 0, as the value does");
}

TEST_F(StatisticsFile, IsNotConfusedWithSamples) {
  EXPECT_EQ(message_of([&] { (void)read_statistics(Digits::file("digits_calibration.h5")); },
                       ErrorCode::kInvalidData)
                .substr(Digits::file("digits_calibration.h5").string().size()),
            ": has no attribute 'schema', expected 'tare statistics 1'");
}

TEST_F(StatisticsFile, OfBytesThatWereCutOffIsAnError) {
  const std::string good = bytes_of_some();
  ASSERT_TRUE(reads(good));
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_FALSE(reads(good.substr(0, good.size() * i / 50))) << i;
  }
}

TEST_F(StatisticsFile, MakesNoChildUnlessOneIsAskedFor) {
  write_statistics(path("s.h5"), some());
  const int before = child_count();
  (void)read_statistics(path("s.h5"));
  EXPECT_EQ(child_count(), before);
  (void)read_statistics(path("s.h5"), {.trial_in_child = true});
  EXPECT_EQ(child_count(), before + 1);
}

TEST_F(StatisticsFile, ThatWouldEndTheProcessIsAnErrorAfterATrial) {
  EXPECT_FALSE(reads(with_damaged_name(bytes_of_some())));
}

TEST_F(StatisticsFile, WithChangedBytesIsReadOrAnError) {
  const std::string good = bytes_of_some();
  int errors = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    errors += reads(with_changed_bytes(good, seed, 8192)) ? 0 : 1;
  }
  EXPECT_GT(errors, 20);  // else the changes missed what matters
}

TEST(Statistics, OfPartsAddUpToThoseOfTheWhole) {
  const Digits digits;
  const Statistics whole = collect(digits.simulated, *digits.data, {.samples = 30});
  const Statistics first = collect(digits.simulated, *digits.data, {.samples = 12});
  EXPECT_EQ(collect(digits.simulated, *digits.data, {.samples = 30}, first), whole);
  Statistics twice = whole;
  merge(whole, twice);
  EXPECT_EQ(twice.samples, 60U);
  EXPECT_EQ(twice.values.begin()->second.count(), 2 * whole.values.begin()->second.count());
}

TEST(Statistics, LoseVisiblePartsThatNotAllSamplesHaveShown) {
  const Statistics whole = collected({-2, 1, 3});
  Statistics older = collected({-4, 5});
  older.visible.clear();
  Statistics both = whole;
  merge(older, both);
  EXPECT_TRUE(both.visible.empty());
  EXPECT_EQ(both.values.at("flat").count(), 5U);
  merge(whole, both);  // which leaves out those of the older one as before
  EXPECT_TRUE(both.visible.empty());
}

TEST(Statistics, ChooseWhatThePassItselfWouldHave) {
  const Digits digits;
  const Toolkit& toolkit = Toolkit::builtin();
  const Statistics statistics = collect(digits.simulated, *digits.data, {.samples = 25});
  for (const char* calibrator : {"max", "percentile"}) {
    Config config;
    config.activations.calibrator.name = calibrator;
    config.schedule = Schedule::kIndependent;
    const std::string once =
        print(quantize(digits.model, *digits.data, config, toolkit, {.samples = 25}).integer);
    EXPECT_TRUE(print(quantize(digits.model, statistics, config, toolkit).integer) == once)
        << calibrator;
  }
}

TEST(Statistics, OfAnotherModelAreRefused) {
  const Digits digits;
  Statistics statistics = collect(digits.simulated, *digits.data, {.samples = 2});
  statistics.model ^= 1U;
  EXPECT_THROW((void)quantize(digits.model, statistics, {}, Toolkit::builtin()), Error);
  EXPECT_THROW((void)collect(digits.simulated, *digits.data, {}, statistics), Error);
  Statistics own = collect(digits.simulated, *digits.data, {.samples = 2});
  EXPECT_THROW(merge(statistics, own), Error);
}

TEST(Statistics, OfOtherValuesAreNotAddedUp) {
  const Digits digits;
  const Statistics all = collect(digits.simulated, *digits.data, {.samples = 2});
  Statistics fewer = all;
  fewer.values.erase(fewer.values.begin());
  EXPECT_THROW(merge(all, fewer), Error);
  EXPECT_THROW((void)collect(digits.simulated, *digits.data, {.samples = 4}, fewer), Error);
}

TEST(Statistics, ThatMissValuesSayWhich) {
  const Digits digits;
  Statistics statistics = collect(digits.simulated, *digits.data, {.samples = 2});
  const std::string missing = statistics.values.begin()->first;
  statistics.values.erase(missing);
  try {
    (void)quantize(digits.model, statistics, {}, Toolkit::builtin());
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidData);
    EXPECT_EQ(error.faults()[0].where, "value '" + missing + "'");
  }
}

TEST(Statistics, AreTheSameForAnyNumberOfThreads) {
  const Digits digits;
  const Statistics one = collect(digits.simulated, *digits.data, {.threads = 1});
  for (const int threads : {2, 3, 7}) {
    EXPECT_EQ(collect(digits.simulated, *digits.data, {.threads = threads}), one) << threads;
  }
}

}  // namespace
}  // namespace tare::test
