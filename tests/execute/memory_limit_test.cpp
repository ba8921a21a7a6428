#include "tare/error.h"
#include "tare/execute.h"
#include "tare/graph.h"
#include "tare/process.h"

#include "execute/run/workers.h"
#include "support/message.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace tare::test {
namespace {

/// Each test has a limit of its own and leaves none behind.
class MemoryLimit : public ::testing::Test {
 protected:
  ~MemoryLimit() override { set_memory_limit(0); }

  static std::string refusal(const Graph& graph) {
    return message_of([&] { return Executable(graph); }, ErrorCode::kUnsupported);
  }
};

constexpr const char* kHint =
    "\n  hint: half of what this process may have is taken unless '--memory' or "
    "'calibration.memory' says more";

TEST_F(MemoryLimit, IsHalfOfWhatTheProcessMayHaveUnlessSaid) {
  EXPECT_EQ(memory_limit(), available_memory() / 2);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  const rlimit less{std::min<rlim_t>(before.rlim_max, rlim_t{1} << 40U), before.rlim_max};
  const std::size_t machine = available_memory();
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &less), 0);
  EXPECT_EQ(available_memory(), std::min<std::size_t>(machine, less.rlim_cur));
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  set_memory_limit(1000);
  EXPECT_EQ(memory_limit(), 1000U);
}

// Of 40 GB: on a machine that has twice as much these would need a limit, too.
TEST_F(MemoryLimit, HoldsForEveryOperatorThatMakesMuchOfLittle) {
  set_memory_limit(1'000'000'000);
  const auto refused = [](const std::string& constants, const std::string& call,
                          const std::string& result) {
    return refusal(parse("graph \"g\" opset 17 (%x : f32[1,1]) -> (%y) {\n" + constants +
                         "\nn: %y = " + call + " : " + result + "\n}"));
  };
  const auto needs = [](const std::string& op) {
    return "node 'n' (" + op + "): its result would need 40.0 GB, expected at most 1.0 GB" +
           kHint;
  };
  EXPECT_EQ(
      refused("const %s : i64[2] = [100000, 100000]", "Expand(%x, %s)", "f32[100000,100000]"),
      needs("Expand"));
  EXPECT_EQ(
      refused("const %s : i64[2] = [100000, 100000]", "Tile(%x, %s)", "f32[100000,100000]"),
      needs("Tile"));
  EXPECT_EQ(
      refused("const %s : i64[4] = [0, 0, 99999, 99999]", "Pad(%x, %s)", "f32[100000,100000]"),
      needs("Pad"));
  EXPECT_EQ(refused("const %s : f32[2] = [100000, 100000]",
                    "Resize(%x, _, %s) {mode=\"nearest\"}", "f32[100000,100000]"),
            needs("Resize"));
}

TEST_F(MemoryLimit, HoldsForAConvolutionWithWidePads) {
  set_memory_limit(1'000'000'000);
  EXPECT_EQ(refusal(parse("graph \"g\" opset 17 (%x : f32[1,1,1,1]) -> (%y) {\n"
                          "const %w : f32[1,1,1,1] = [2]\n"
                          "n: %y = Conv(%x, %w) {pads=[0, 0, 99999, 99999]} : "
                          "f32[1,1,100000,100000]\n}")),
            "node 'n' (Conv): its result would need 40.0 GB, expected at most 1.0 GB" +
                std::string(kHint));
}

TEST_F(MemoryLimit, HoldsForWhatIsThereAtOnceAndNotForWhatFollowsEachOther) {
  std::string chain =
      "graph \"g\" opset 17 (%x : f32[1,250]) -> (%y) {\n%a0 = Exp(%x) : f32[1,250]\n";
  for (int i = 1; i <= 20; ++i) {
    chain +=
        "%a" + std::to_string(i) + " = Exp(%a" + std::to_string(i - 1) + ") : f32[1,250]\n";
  }
  // 1000 bytes each, placed at multiples of 64: input, result, and one or two on the way.
  set_memory_limit(4048);
  EXPECT_EQ(refusal(parse(chain + "%y = Neg(%a20) : f32[1,250]\n}")), "no error");
  std::string all = "%a0";
  for (int i = 1; i <= 20; ++i) {
    all += ", %a" + std::to_string(i);
  }
  EXPECT_EQ(refusal(parse(chain + "%y = Concat(" + all + ") {axis=0} : f32[21,250]\n}"))
                .substr(0, 50),
            "node 'y' (Concat): its result would need 21.0 kB, ");
  // 21 values of 1024 bytes and a result of 21056, beside the input and a copy of the result.
  set_memory_limit(30'000);
  EXPECT_EQ(refusal(parse(chain + "%y = Concat(" + all + ") {axis=0} : f32[21,250]\n}"))
                .substr(0, 52),
            "running the network would need 64.6 kB, expected at ");
}

TEST_F(MemoryLimit, LeavesFewerThreadsToALargeNetwork) {
  const Executable executable(
      parse("graph \"g\" opset 17 (%x : f32[1,256]) -> (%y) {\n%y = Neg(%x) : f32[1,256]\n}"));
  ASSERT_EQ(executable.workspace_bytes(), 1024U);
  set_memory_limit(10 * 1024);
  EXPECT_EQ(worker_count(executable, 4), 4);
  EXPECT_EQ(worker_count(executable, 16), 10);
  set_memory_limit(1);
  EXPECT_EQ(worker_count(executable, 16), 1) << "it was made ready before";
}

TEST(MemoryText, IsReadableAtAnySize) {
  EXPECT_EQ(memory_text(0), "0 bytes");
  EXPECT_EQ(memory_text(999), "999 bytes");
  EXPECT_EQ(memory_text(7.6e9), "7.6 GB");
  EXPECT_EQ(memory_text(4e16), "40000.0 TB");
}

}  // namespace
}  // namespace tare::test
