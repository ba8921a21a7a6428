#include "execute/compile/reorder.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

class Reorder : public ::testing::TestWithParam<DType> {
 protected:
  /// Bytes of which any two neighbours differ.
  static std::vector<std::byte> bytes_of(const TensorType& type) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(element_count(type.shape)) *
                                 size_of(type.dtype));
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::byte>(i * 167 + i / 256);
    }
    return bytes;
  }

  /// Element by element.
  static std::vector<std::byte> channels_last(const TensorType& type,
                                              const std::vector<std::byte>& plain) {
    const std::size_t size = size_of(type.dtype);
    const auto samples = static_cast<std::size_t>(type.shape[0]);
    const auto channels = static_cast<std::size_t>(type.shape[1]);
    const auto positions = static_cast<std::size_t>(type.shape[2]);
    std::vector<std::byte> result(plain.size());
    for (std::size_t n = 0; n < samples; ++n) {
      for (std::size_t c = 0; c < channels; ++c) {
        for (std::size_t p = 0; p < positions; ++p) {
          std::memcpy(&result[((n * positions + p) * channels + c) * size],
                      &plain[((n * channels + c) * positions + p) * size], size);
        }
      }
    }
    return result;
  }
};

TEST_P(Reorder, MovesEachElementWhateverTheNumberOfChannelsAndPositions) {
  for (const std::int64_t channels : {1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 48, 65}) {
    for (const std::int64_t positions : {1, 2, 3, 5, 8, 16, 23, 32, 40, 64, 100}) {
      const TensorType type{GetParam(), {2, channels, positions}};
      const std::vector<std::byte> plain = bytes_of(type);
      const std::vector<std::byte> last = channels_last(type, plain);
      std::vector<std::byte> result(plain.size());
      copy_to_channels_last(type, plain.data(), result.data());
      EXPECT_EQ(result, last) << channels << " channels, " << positions << " positions";
      copy_to_plain(type, last.data(), result.data());
      EXPECT_EQ(result, plain) << channels << " channels, " << positions << " positions";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfElements, Reorder,
                         ::testing::Values(DType::kInt8, DType::kFloat16, DType::kFloat32,
                                           DType::kInt64),
                         [](const auto& info) {
                           return "of" + std::to_string(size_of(info.param)) + "bytes";
                         });

}  // namespace
}  // namespace tare::test
