// Every target on its seeds, on the cases that were once found, and on a bounded number of
// changed seeds, the same ones every time.
#include "fuzz/mutate.h"
#include "fuzz/target.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>

#include <gtest/gtest.h>

namespace tare::fuzz {

namespace {

struct Replayed {
  FuzzTarget (*target)();
  int changed;  ///< files, about a second's worth

  friend void PrintTo(const Replayed& replayed, std::ostream* out) {
    *out << replayed.target().name;
  }
};

class Fuzz : public ::testing::TestWithParam<Replayed> {
 protected:
  const FuzzTarget target_ = GetParam().target();

  /// Whether the bytes were taken; the test fails when they are a finding.
  bool takes(Bytes bytes, const std::string& name) const {
    try {
      return is_taken(target_, bytes);
    } catch (const std::exception& finding) {
      ADD_FAILURE() << name << ": " << finding.what();
      return false;
    }
  }
};

TEST_P(Fuzz, TakesFilesThatAreAsTheyShouldBe) {
  const std::vector<File> seeds = target_.seeds();
  std::size_t taken = 0;
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    taken += takes(seeds[i], "seed " + std::to_string(i)) ? 1 : 0;
  }
  EXPECT_GE(2 * taken, seeds.size());  // some are of what another target reads
}

TEST_P(Fuzz, HasNoFindingInWhatWasFoundBefore) {
  const auto folder =
      std::filesystem::path(TARE_SOURCE_DIR) / "tests/fuzz/cases" / std::string(target_.name);
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "nothing was found";
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    (void)takes(file_of(bytes), entry.path().filename().string());
  }
}

TEST_P(Fuzz, HasNoFindingInChangedFiles) {
  const std::vector<File> seeds = target_.seeds();
  Mutation mutation(1);
  for (int i = 0; i < GetParam().changed; ++i) {
    const File changed = mutation.of(target_, seeds);
    if (!takes(changed, "change " + std::to_string(i)) && HasFailure()) {
      return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, Fuzz,
    ::testing::Values(Replayed{fuzz_config, 2000}, Replayed{fuzz_onnx, 1000},
                      Replayed{fuzz_quantize, 60}, Replayed{fuzz_samples, 1000},
                      Replayed{fuzz_statistics, 300}, Replayed{fuzz_table, 1000},
                      Replayed{fuzz_text, 5000}, Replayed{fuzz_tflite, 3000}),
    ::testing::PrintToStringParamName());

}  // namespace
}  // namespace tare::fuzz
