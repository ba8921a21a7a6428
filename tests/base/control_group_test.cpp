#include "base/control_group.h"

#include "support/files/temporary_folder.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// A folder in which control groups are mounted.
class ControlGroup : public ::testing::Test {
 protected:
  void limit(const std::string& file, const std::string& text) {
    const std::filesystem::path path = root_.path() / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << '\n';
  }
  std::optional<std::size_t> memory(const std::string& membership) const {
    return memory_of_control_group(membership, root_.path());
  }

 private:
  TemporaryFolder root_;
};

TEST_F(ControlGroup, LimitsByTheLeastOfItsOwnAndThoseAbove) {
  limit("memory.max", "max");
  limit("user/memory.max", "4000000");
  limit("user/job/memory.max", "6000000");
  limit("user/other/memory.max", "1000");
  EXPECT_EQ(memory("0::/user/job\n"), 4000000U);
  EXPECT_EQ(memory("0::/user/job/step\n"), 4000000U);  // which has no file
  EXPECT_EQ(memory("0::/elsewhere\n"), std::nullopt);
}

TEST_F(ControlGroup, LimitsByTheTreeOfMemoryInVersionOne) {
  limit("memory/memory.limit_in_bytes", "9223372036854771712");
  limit("memory/job/memory.limit_in_bytes", "600000000");
  limit("cpu/job/memory.limit_in_bytes", "1");
  EXPECT_EQ(memory("8:pids:/job\n5:cpu,cpuacct:/job\n4:memory:/job\n0::/\n"), 600000000U);
}

TEST_F(ControlGroup, LimitsByTheRootWhereItsPathIsThatOfTheHost) {
  limit("memory.max", "500000");
  EXPECT_EQ(memory("0::/docker/0123456789\n"), 500000U);
}

TEST_F(ControlGroup, DoesNotLimitWhereThereIsNone) {
  EXPECT_EQ(memory(""), std::nullopt);
  EXPECT_EQ(memory("nonsense"), std::nullopt);
}

}  // namespace
}  // namespace tare::test
