#include "tare/error.h"

#include "onnx/model_builder.h"
#include "support/files/damaged.h"
#include "support/files/files.h"

#include <random>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace tare::test {
namespace {

long peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(DamagedModels, AreReadOrRefusedWithinLittleMemory) {
  const std::string model = bytes_of(TARE_SOURCE_DIR "/data/digits.onnx");
  ASSERT_FALSE(model.empty());
  std::mt19937 random(1);  // the same bytes in every run
  const auto below = [&](std::size_t end) { return random() % end; };
  const long before = peak_kilobytes();
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    std::string damaged = model;
    // The structure is at both ends; weights fill the middle.
    const std::size_t reach = i % 2 == 0 ? 4096 : model.size();
    for (std::size_t change = 0; change <= below(8); ++change) {
      damaged[below(reach)] = static_cast<char>(random());
    }
    if (i % 3 == 0) {
      damaged.resize(below(model.size()));
    }
    refused += is_read([&] { (void)read(damaged); }) ? 0 : 1;
  }
  EXPECT_GT(refused, 100);  // a third is cut short
  // Ten copies of the model at once would be 3 MB; sanitizers keep freed memory for a while.
  EXPECT_LT(peak_kilobytes() - before, 400'000);
}

TEST(DamagedModels, OfRandomBytesAreRefused) {
  std::mt19937 random(2);
  for (std::size_t size = 1; size < 200; ++size) {
    std::string bytes(size, '\0');
    std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<char>(random()); });
    EXPECT_FALSE(is_read([&] { (void)read(bytes); }));
  }
}

}  // namespace
}  // namespace tare::test
