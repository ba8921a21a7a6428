// Every target on its seeds, on the cases that were once found, and on a bounded number of
// changed seeds, the same ones every time.
#include "fuzz/mutate.h"
#include "fuzz/target.h"

#include <algorithm>
#include <cstdlib>
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
      const auto kept = std::filesystem::temp_directory_path() /
                        ("tare-finding-" + std::string(target_.name) + "-" + name);
      std::ofstream(kept, std::ios::binary) << text_of(bytes);
      ADD_FAILURE() << name << ", kept as " << kept << ": " << finding.what();
      return false;
    }
  }
};

/// TARE_FUZZ_TIMES in the environment asks for more.
int times() {
  const char* wanted = std::getenv("TARE_FUZZ_TIMES");
  return wanted != nullptr ? std::max(std::atoi(wanted), 1) : 1;
}

TEST_P(Fuzz, TakesFilesThatAreAsTheyShouldBe) {
  const std::vector<File> seeds = target_.seeds();
  std::size_t taken = 0;
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    taken += takes(seeds[i], "seed-" + std::to_string(i)) ? 1 : 0;
  }
  EXPECT_GE(2 * taken, seeds.size());  // some are of what another target reads
}

TEST_P(Fuzz, HasNoFindingInWhatWasFoundBefore) {
  auto folder =
      std::filesystem::path(TARE_SOURCE_DIR) / "tests/fuzz/cases" / std::string(target_.name);
  if (const char* given = std::getenv("TARE_FUZZ_FOLDER")) {
    folder = given;
  }
  std::error_code none;  // no such folder: nothing was found
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    (void)takes(file_of(bytes), entry.path().filename().string());
  }
}

TEST_P(Fuzz, HasNoFindingInChangedFiles) {
  const std::vector<File> seeds = target_.seeds();
  Mutation mutation(1);
  for (int i = 0; i < times() * GetParam().changed; ++i) {
    (void)takes(mutation.of(target_, seeds), "change-" + std::to_string(i));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, Fuzz,
    ::testing::Values(Replayed{fuzz_config, 1000}, Replayed{fuzz_mutants, 100},
                      Replayed{fuzz_onnx, 1000}, Replayed{fuzz_quantize, 100},
                      Replayed{fuzz_sample_files, 3000}, Replayed{fuzz_samples, 300},
                      Replayed{fuzz_statistics, 150}, Replayed{fuzz_table, 1000},
                      Replayed{fuzz_text, 30000}, Replayed{fuzz_tflite, 20000}),
    ::testing::PrintToStringParamName());

}  // namespace
}  // namespace tare::fuzz
