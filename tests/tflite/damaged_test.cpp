// Whatever bytes a file holds, the answer is a graph that can be lowered and compiled, or an
// error.
#include "support/files/damaged.h"

#include "tare/error.h"
#include "tare/execute.h"
#include "tare/quantize.h"

#include "tflite/import.h"
#include "tflite/row_cases.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

/// Whether a graph came of it.
bool is_imported(const std::vector<std::byte>& bytes) {
  return is_read([&] {
    Graph graph = tflite::import_model(tflite::ModelFile(bytes));
    if (is_quantized(graph)) {
      graph = lower_quantized(std::move(graph), {}, Toolkit::builtin());
    }
    std::int64_t elements = 0;
    for (const ValueId value : graph.values()) {
      elements += element_count(graph.type(value).shape);
    }
    if (elements < 1'000'000) {
      (void)Executable(graph);
    }
  });
}

std::size_t below(std::size_t end, std::mt19937& random) {
  return random() % end;
}

/// Some bytes are other ones; small numbers are offsets, extents and indices.
std::vector<std::byte> damaged(std::vector<std::byte> bytes, std::mt19937& random) {
  for (std::size_t change = 0; change <= below(4, random); ++change) {
    const auto value = below(2, random) == 0 ? below(16, random) : below(256, random);
    bytes[below(bytes.size(), random)] = static_cast<std::byte>(value);
  }
  return bytes;
}

class DamagedTflite : public ::testing::TestWithParam<std::vector<std::byte> (*)()> {};

TEST_P(DamagedTflite, IsReadOrRefused) {
  constexpr int kFiles = 3400;  // ten thousand of the three networks
  const std::vector<std::byte> model = GetParam()();
  ASSERT_TRUE(is_imported(model));
  std::mt19937 random(1);  // the same bytes in every run
  int refused = 0;
  for (int i = 0; i < kFiles; ++i) {
    std::vector<std::byte> bytes = damaged(model, random);
    if (i % 10 == 0) {
      bytes.resize(below(bytes.size(), random));
    }
    refused += is_imported(bytes) ? 0 : 1;
  }
  EXPECT_GE(refused, kFiles / 10);  // those that are cut short
  EXPECT_LT(refused, kFiles);
}

INSTANTIATE_TEST_SUITE_P(Networks, DamagedTflite,
                         ::testing::Values(small_quantized_network, small_moving_network,
                                           small_float_network));

TEST(DamagedTflite, OfEachOperatorIsReadOrRefused) {
  std::mt19937 random(3);
  for (const RowCase& row : row_cases()) {
    const std::vector<std::byte> model = file_of(row);
    ASSERT_TRUE(is_imported(model));
    int refused = 0;
    for (int i = 0; i < 100; ++i) {
      refused += is_imported(damaged(model, random)) ? 0 : 1;
    }
    EXPECT_GT(refused, 0) << EnumNameBuiltin(row.code);
  }
}

TEST(DamagedTflite, OfEachOperatorMayHaveAnyByteWrong) {
  for (const RowCase& row : row_cases()) {
    const std::vector<std::byte> model = file_of(row);
    for (std::size_t i = 0; i < model.size(); ++i) {
      for (const std::byte flipped : {std::byte{0x01}, std::byte{0x80}, std::byte{0xFF}}) {
        std::vector<std::byte> bytes = model;
        bytes[i] ^= flipped;
        (void)is_imported(bytes);  // whatever comes of it
      }
    }
  }
}

TEST(DamagedTflite, OfRandomBytesIsRefused) {
  std::mt19937 random(2);
  for (std::size_t size = 0; size < 200; ++size) {
    std::vector<std::byte> bytes(size);
    std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::byte>(random()); });
    EXPECT_FALSE(is_imported(bytes));
  }
}

}  // namespace
}  // namespace tare::test
