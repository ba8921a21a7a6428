#include "tare/search.h"

#include "support/files/digits.h"
#include "support/files/files.h"
#include "support/files/folder.h"

#include <algorithm>
#include <chrono>
#include <set>

namespace tare::test {
namespace {

class Searches : public InFolder {
 protected:
  static constexpr std::int64_t kSamples = 24;

  Searches() { config_.samples = kSamples; }

  SearchResult found(const SearchOptions& options) const {
    return search(digits_.model, *digits_.data, config_, Toolkit::builtin(), options);
  }
  static std::vector<ReportCondition> at_least(double sqnr) {
    return {ReportCondition("output.sqnr>=" + std::to_string(sqnr))};
  }
  /// No network of which anything is quantized is as exact as that.
  static std::vector<ReportCondition> unheard_of() { return at_least(300); }

  QuantizeResult quantized(const Config& config) const {
    return quantize(digits_.model, *digits_.data, config, Toolkit::builtin(),
                    {.samples = static_cast<std::size_t>(*config.samples)});
  }
  std::string model_bytes(const QuantizeResult& result) const {
    write_model(result, path("m.onnx"));
    return bytes_of(path("m.onnx"));
  }

  const Digits digits_;
  Config config_;
};

TEST_F(Searches, KeepTheFewestLayersInFloatThatMeetTheConditions) {
  constexpr double kBound = 44;
  const SearchResult result = found({.conditions = at_least(kBound)});
  ASSERT_EQ(result.end, SearchEnd::kDone);
  ASSERT_TRUE(result.meets());
  EXPECT_EQ(result.calibrated_on, 16U);
  EXPECT_EQ(result.evaluated_on, 8U);
  const auto holdout = part_of(*digits_.data, 16, 8);
  std::vector<std::size_t> meeting;
  for (std::size_t i = 0; i < result.plans.size(); ++i) {
    Config config = apply_plan(config_, result.plans[i].plan);
    config.samples = 16;
    const Report report = compare_result(quantized(config), *holdout, Toolkit::builtin());
    const auto& error = report.outputs.at(0).error;
    if (error.exact || *error.sqnr >= kBound) {
      meeting.push_back(i);
    }
    if (result.plans[i].is_tried() && !error.exact) {
      EXPECT_EQ(result.plans[i].sqnr, error.sqnr) << i;
    }
  }
  const auto kept = [&](std::size_t i) { return result.plans[i].plan.float_nodes.size(); };
  ASSERT_GT(meeting.size(), 1U);
  EXPECT_GT(meeting.front(), 0U) << "everything may be quantized, which any search finds";
  const std::size_t fewest =
      *std::min_element(meeting.begin(), meeting.end(),
                        [&](std::size_t a, std::size_t b) { return kept(a) < kept(b); });
  EXPECT_EQ(result.chosen, fewest);
  EXPECT_LT(result.trials, result.plans.size()) << "all were tried";
}

TEST_F(Searches, WidenActivationsWhereNothingMayBeInFloat) {
  config_.target = "qnn";
  const auto at_first = found({}).plans;
  ASSERT_GT(at_first.size(), 2U);
  const SearchResult narrow = found({.conditions = at_least(1)});
  EXPECT_EQ(narrow.chosen, 0U);
  const double bound = *narrow.plans[0].sqnr + 2;
  const SearchResult result = found({.conditions = at_least(bound)});
  ASSERT_TRUE(result.meets());
  EXPECT_GT(result.chosen, 0U);
  EXPECT_GE(*result.plans[result.chosen].sqnr, bound);
  EXPECT_TRUE(result.plans[result.chosen].plan.float_nodes.empty());
  EXPECT_EQ(result.config.slowdown, result.plans[result.chosen].plan.slowdown);
  ASSERT_TRUE(result.quantized);
  EXPECT_EQ(model_bytes(quantized(result.config)), model_bytes(*result.quantized));
}

TEST_F(Searches, GiveTheNetworkOfTheirConfiguration) {
  const SearchResult result = found({.conditions = at_least(44)});
  ASSERT_TRUE(result.quantized);
  EXPECT_EQ(result.quantized->integer, quantized(result.config).integer);
  const std::string size =
      "\"bytes\": " + std::to_string(model_bytes(*result.quantized).size());
  EXPECT_NE(result.plans[result.chosen].report.find(size), std::string::npos);
}

TEST_F(Searches, WithoutConditionsChooseTheFastestPlan) {
  const SearchResult result = found({});
  EXPECT_TRUE(result.meets());
  EXPECT_EQ(result.chosen, 0U);
}

TEST_F(Searches, ThatFailSayByWhatAndChooseTheMostExactPlan) {
  const SearchResult all = found({.conditions = unheard_of(), .least_integers = 0.5});
  EXPECT_EQ(all.end, SearchEnd::kDone);
  EXPECT_FALSE(all.meets());
  EXPECT_EQ(all.chosen, all.plans.size() - 1);
  ASSERT_EQ(all.plans.back().failures.size(), 1U);
  EXPECT_EQ(all.plans.back().failures[0].substr(0, 26), "output.sqnr>=300.000000: i");
  for (const SearchedPlan& searched : all.plans) {
    EXPECT_GE(searched.plan.integer_share, 0.5);
    EXPECT_TRUE(searched.has_enough_integers);
  }
  const SearchResult none = found({.least_integers = 1.1});
  ASSERT_EQ(none.plans.size(), 1U);
  EXPECT_FALSE(none.plans[0].has_enough_integers);
  EXPECT_TRUE(none.plans[0].is_tried());
  EXPECT_FALSE(none.meets());
}

void expect_same(const SearchResult& a, const SearchResult& b) {
  EXPECT_EQ(a.chosen, b.chosen);
  EXPECT_EQ(a.config, b.config);
  EXPECT_EQ(a.trials, b.trials);
  ASSERT_EQ(a.plans.size(), b.plans.size());
  for (std::size_t i = 0; i < a.plans.size(); ++i) {
    EXPECT_EQ(a.plans[i].plan, b.plans[i].plan) << i;
    EXPECT_EQ(a.plans[i].report, b.plans[i].report) << i;
    EXPECT_EQ(a.plans[i].failures, b.plans[i].failures) << i;
  }
}

TEST_F(Searches, ResumeToTheSameBytesWhereverTheyWereStopped) {
  const SearchResult whole = found({.conditions = unheard_of()});
  ASSERT_GT(whole.trials, 2U);
  std::size_t patience = 0;
  std::size_t asked = 0;
  SearchOptions options{.conditions = unheard_of(), .checkpoint = path("c")};
  options.stop = [&] { return ++asked > patience; };
  std::set<std::size_t> trials;
  SearchResult result;
  do {
    asked = 0;
    result = found(options);
    if (result.end == SearchEnd::kStopped) {
      EXPECT_EQ(result.is_resumable, std::filesystem::exists(path("c")));
      EXPECT_FALSE(result.meets());
      // The same patience might calibrate anew for ever.
      const bool is_further = trials.insert(result.trials).second;
      patience = is_further ? 0 : patience + 5;
    }
  } while (result.end == SearchEnd::kStopped);
  EXPECT_EQ(trials.size(), whole.trials) << "it was not stopped in each trial";
  EXPECT_EQ(result.end, SearchEnd::kDone);
  EXPECT_FALSE(result.is_resumable);
  expect_same(result, whole);
  EXPECT_EQ(model_bytes(*result.quantized), model_bytes(*whole.quantized));
  EXPECT_FALSE(std::filesystem::exists(path("c")));
}

TEST_F(Searches, TryOnePlanHoweverLateItIs) {
  const SearchResult whole = found({.conditions = unheard_of()});
  SearchOptions options{.conditions = unheard_of(),
                        .deadline = std::chrono::steady_clock::now(),
                        .checkpoint = path("c")};
  SearchResult result;
  std::size_t calls = 0;
  do {
    result = found(options);
    EXPECT_EQ(result.trials, ++calls);
    EXPECT_EQ(std::count_if(result.plans.begin(), result.plans.end(),
                            [](const SearchedPlan& plan) { return plan.is_tried(); }),
              static_cast<std::ptrdiff_t>(calls));
    EXPECT_TRUE(result.plans[result.chosen].is_tried());
    ASSERT_TRUE(result.quantized);
    EXPECT_EQ(result.is_resumable, result.end == SearchEnd::kDeadline);
  } while (result.end == SearchEnd::kDeadline);
  EXPECT_GT(calls, 1U);
  expect_same(result, whole);
}

TEST_F(Searches, LeaveTheBestModelInTheFilesThatTheyAreGiven) {
  const SearchOptions options{.conditions = at_least(44),
                              .output = path("o.onnx"),
                              .reports = {path("r.json")},
                              .model_file = Digits::file("digits.onnx")};
  const SearchResult result = found(options);
  EXPECT_FALSE(result.quantized);
  EXPECT_EQ(bytes_of(path("o.onnx")), model_bytes(quantized(result.config)));
  EXPECT_EQ(bytes_of(path("r.json")), result.plans[result.chosen].report);
  EXPECT_NE(bytes_of(path("r.json")).find("o.onnx"), std::string::npos);
}

TEST_F(Searches, EvaluateOnWhatIsHeldOut) {
  const SearchResult some = found({.holdout = 5});
  EXPECT_EQ(some.calibrated_on, 19U);
  EXPECT_EQ(some.evaluated_on, 5U);
  EXPECT_EQ(some.config.samples, 19);
  const SearchResult none = found({.holdout = 0});
  EXPECT_EQ(none.calibrated_on, 24U);
  EXPECT_EQ(none.evaluated_on, 24U);
  EXPECT_EQ(message_of([&] { (void)found({.holdout = 24}); }, ErrorCode::kInvalidConfig),
            "holdout: is 24 of 24 samples, expected fewer than all, as the others are "
            "calibrated on");
}

TEST_F(Searches, DoNotResumeFromOneWithAnotherHoldout) {
  SearchOptions options{.conditions = unheard_of(),
                        .deadline = std::chrono::steady_clock::now(),
                        .checkpoint = path("c")};
  EXPECT_TRUE(found(options).is_resumable);
  options.holdout = 5;
  EXPECT_EQ(message_of([&] { (void)found(options); }, ErrorCode::kInvalidData),
            "c: is of a search with other samples\n"
            "  hint: the interrupted command resumes from it; remove it to start anew");
}

/// Samples that nobody may ask for.
class Untouched : public Dataset {
 public:
  explicit Untouched(const Dataset& data) : data_(data) {}
  std::size_t size() const override { return data_.size(); }
  const std::vector<DatasetInput>& inputs() const override { return data_.inputs(); }
  Tensor read(const std::string& input, std::size_t first, std::size_t count) const override {
    ADD_FAILURE() << "a sample was read";
    return data_.read(input, first, count);
  }
  std::optional<std::vector<std::int64_t>> labels() const override { return data_.labels(); }

 private:
  const Dataset& data_;
};

TEST_F(Searches, RefuseAMisspeltConditionBeforeTheyReadASample) {
  const Untouched data(*digits_.data);
  const SearchOptions options{.conditions = {ReportCondition("output.sqn>=30")},
                              .checkpoint = path("c")};
  const std::string message = message_of(
      [&] { (void)search(digits_.model, data, config_, Toolkit::builtin(), options); },
      ErrorCode::kInvalidConfig);
  EXPECT_NE(message.find("did you mean 'sqnr'?"), std::string::npos) << message;
}

TEST_F(Searches, EndWithWhatTheirProgressThrows) {
  struct Enough {};
  SearchOptions options{.progress = [](std::size_t, std::size_t) { throw Enough{}; }};
  EXPECT_THROW((void)found(options), Enough);
}

}  // namespace
}  // namespace tare::test
