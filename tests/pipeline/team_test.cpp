// Threads stand for the processes of a team, each of which gets nothing from the others but
// what they tell it.
#include "tare/quantize.h"

#include "support/files/digits.h"

#include <atomic>
#include <barrier>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// What the members of a team share.
struct Exchange {
  explicit Exchange(int count)
      : messages(static_cast<std::size_t>(count)), all_here(count), all_read(count) {}

  std::vector<std::string> messages;
  std::barrier<> all_here;
  std::barrier<> all_read;
  std::atomic<std::size_t> bytes = 0;
};

class Member final : public Communicator {
 public:
  Member(Exchange& table, int rank) : table_(table), rank_(rank) {}
  int rank() const override { return rank_; }
  int count() const override { return static_cast<int>(table_.messages.size()); }
  std::vector<std::string> gather(const std::string& own) override {
    table_.messages[static_cast<std::size_t>(rank_)] = own;
    table_.bytes += own.size();
    table_.all_here.arrive_and_wait();
    std::vector<std::string> result = table_.messages;
    table_.all_read.arrive_and_wait();
    return result;
  }

 private:
  Exchange& table_;
  int rank_;
};

/// What each member of a team makes of it.
std::vector<QuantizeResult> quantized_by_team(int count, const Digits& digits,
                                              const Config& config, std::size_t samples) {
  Exchange table(count);
  std::vector<std::optional<QuantizeResult>> results(static_cast<std::size_t>(count));
  std::vector<std::thread> members;
  for (int rank = 0; rank < count; ++rank) {
    members.emplace_back([&, rank] {
      Member member(table, rank);
      results[static_cast<std::size_t>(rank)] =
          quantize(digits.model, *digits.data, config, Toolkit::builtin(),
                   {.threads = 1 + rank, .samples = samples, .communicator = &member});
    });
  }
  for (std::thread& member : members) {
    member.join();
  }
  EXPECT_GT(table.bytes, 0U);  // they did talk
  std::vector<QuantizeResult> all;
  for (std::optional<QuantizeResult>& result : results) {
    all.push_back(*std::move(result));
  }
  return all;
}

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
  for (const int count : {2, 3}) {
    for (const QuantizeResult& result :
         quantized_by_team(count, digits, config, GetParam().samples)) {
      EXPECT_EQ(result.table, alone.table);
      EXPECT_EQ(result.factors, alone.factors);
      EXPECT_EQ(result.float_nodes, alone.float_nodes);
      EXPECT_EQ(result.audit.samples, alone.audit.samples);
      EXPECT_EQ(result.audit.data, alone.audit.data);
    }
  }
}

}  // namespace
}  // namespace tare::test
