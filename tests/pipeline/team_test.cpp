#include "support/team.h"

#include "tare/quantize.h"
#include "tare/report.h"
#include "tare/search.h"

#include "support/files/digits.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// A configuration and how many samples it is tried on.
struct TeamCase {
  const char* name;
  const char* calibrator;
  Effort effort;
  std::size_t samples;
};

class Team : public ::testing::TestWithParam<TeamCase> {};

INSTANTIATE_TEST_SUITE_P(
    Cases, Team,
    ::testing::Values(TeamCase{"Sequential", "mse", Effort::kDefault, 64},
                      TeamCase{"FewerSamplesThanMembers", "mse", Effort::kDefault, 2},
                      TeamCase{"Independent", "mse", Effort::kFast, 50},
                      TeamCase{"SeveralCandidates", "auto", Effort::kDefault, 40}),
    [](const auto& given) { return given.param.name; });

TEST_P(Team, DecidesWhatOneAloneDoes) {
  const Digits digits;
  Config config;
  config.activations.calibrator.name = GetParam().calibrator;
  config.effort = GetParam().effort;
  const QuantizeResult alone = quantize(digits.model, *digits.data, config, Toolkit::builtin(),
                                        {.threads = 1, .samples = GetParam().samples});
  for (const int count : {2, 3, 4}) {
    const auto work = [&](Member& member) {
      return quantize(digits.model, *digits.data, config, Toolkit::builtin(),
                      {.threads = 1 + member.rank(),
                       .samples = GetParam().samples,
                       .communicator = &member});
    };
    for (const QuantizeResult& result : by_team(count, work)) {
      EXPECT_EQ(result.table, alone.table);
      EXPECT_EQ(result.factors, alone.factors);
      EXPECT_EQ(result.float_nodes, alone.float_nodes);
      EXPECT_EQ(result.audit.samples, alone.audit.samples);
      EXPECT_EQ(result.audit.data, alone.audit.data);
    }
  }
}

/// A metric of somebody who knows of no other processes.
MetricInfo count_of_samples() {
  class Count final : public Metric {
   public:
    void observe(const SampleResults&) override { ++count_; }
    void merge(const Metric& other) override {
      count_ += dynamic_cast<const Count&>(other).count_;
    }
    std::optional<double> value() const override { return count_; }

   private:
    double count_ = 0;
  };
  return {
      .name = "samples.count", .summary = "", .make = [] { return std::make_unique<Count>(); }};
}

TEST(TeamReport, IsThatOfOneAlone) {
  const Digits digits;
  const Toolkit plain = Toolkit::builtin();
  const QuantizeResult quantized =
      quantize(digits.model, *digits.data, {}, plain, {.threads = 1, .samples = 40});
  Toolkit counting = plain;
  counting.metrics.push_back(count_of_samples());
  for (const Toolkit& toolkit : {plain, counting}) {
    for (const std::size_t samples : {std::size_t{50}, std::size_t{2}}) {
      const auto report = [&](Communicator* team) {
        return report_json(
            compare_result(quantized, *digits.data, toolkit,
                           {.threads = 2, .samples = samples, .communicator = team}));
      };
      const std::string alone = report(nullptr);
      for (const std::string& each :
           by_team(3, [&](Member& member) { return report(&member); })) {
        EXPECT_EQ(each, alone);
      }
    }
  }
}

TEST(TeamSearch, FindsWhatOneAloneFinds) {
  const Digits digits;
  Config config;
  config.samples = 60;
  const auto searched = [&](Communicator* team) {
    SearchOptions options;
    options.threads = 1;
    options.communicator = team;
    options.conditions.emplace_back("output.sqnr>=45");
    const SearchResult found =
        search(digits.model, *digits.data, config, Toolkit::builtin(), options);
    std::string text = std::to_string(found.chosen);
    for (const SearchedPlan& plan : found.plans) {
      text += plan.report;
    }
    return text;
  };
  const std::string alone = searched(nullptr);
  for (const std::string& each :
       by_team(2, [&](Member& member) { return searched(&member); })) {
    EXPECT_EQ(each, alone);
  }
}

}  // namespace
}  // namespace tare::test
