// Eight values at a time: bins for all of them, then the lanes of those that are not 0 are
// moved to the front by one byte shuffle, whose pattern comes from a table of all 256 sets of
// lanes. So the loop has no branch for zeros: half of the values behind a Relu are zero, in no
// order that a processor could predict. Table: 4 KiB.
#include "calibrate/statistics/nonzero_bins.h"

#include <algorithm>
#include <array>
#include <cmath>

#ifdef __AVX2__
#include <bit>

#include <immintrin.h>
#endif

namespace tare {
namespace {

std::uint16_t bin_of(float x, const BinGrid& grid) {
  const auto steps = static_cast<std::int32_t>(std::floor(x * grid.inverse_width));
  // A negative number that is tiny beside a bin becomes 0 and still belongs below it.
  return static_cast<std::uint16_t>(grid.zero + (x < 0 ? std::min(steps, -1) : steps));
}

#ifdef __AVX2__

/// For each set of lanes the bytes of their 16-bit numbers, moved to the front.
constexpr auto kToFront = [] {
  std::array<std::array<std::uint8_t, 16>, 256> bytes{};
  for (std::size_t set = 0; set < bytes.size(); ++set) {
    std::size_t count = 0;
    for (std::size_t lane = 0; lane < 8; ++lane) {
      if ((set >> lane & 1U) != 0) {
        bytes[set][2 * count] = static_cast<std::uint8_t>(2 * lane);
        bytes[set][2 * count + 1] = static_cast<std::uint8_t>(2 * lane + 1);
        ++count;
      }
    }
  }
  return bytes;
}();

/// The bins of eight values. Where bins are no wider than 1, multiplying by the inverse loses
/// nothing.
template <bool kNarrow>
__m256i bins_of(__m256 x, __m256 inverse, __m256i bin_of_zero) {
  __m256i steps = _mm256_cvttps_epi32(_mm256_floor_ps(_mm256_mul_ps(x, inverse)));
  if constexpr (!kNarrow) {
    const __m256i below = _mm256_srai_epi32(_mm256_castps_si256(x), 31);  // -1 for x < 0
    steps = _mm256_blendv_epi8(steps, _mm256_min_epi32(steps, below), below);
  }
  return _mm256_add_epi32(steps, bin_of_zero);
}

template <bool kNarrow>
std::size_t bins_of_eights(std::span<const float> values, const BinGrid& grid,
                           std::uint16_t* bins) {
  const __m256 inverse = _mm256_set1_ps(grid.inverse_width);
  const __m256i bin_of_zero = _mm256_set1_epi32(grid.zero);
  const __m256 zero = _mm256_setzero_ps();
  std::size_t count = 0;
  for (std::size_t i = 0; i + 8 <= values.size(); i += 8) {
    const __m256 x = _mm256_loadu_ps(values.data() + i);
    const auto lanes =
        static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(x, zero, _CMP_NEQ_UQ)));
    const __m256i wide = bins_of<kNarrow>(x, inverse, bin_of_zero);
    const __m128i narrow =
        _mm_packus_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
    const __m128i order =
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(kToFront[lanes].data()));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(bins + count), _mm_shuffle_epi8(narrow, order));
    count += static_cast<std::size_t>(std::popcount(lanes));
  }
  return count;
}

#endif

}  // namespace

std::size_t nonzero_bins(std::span<const float> values, const BinGrid& grid,
                         std::uint16_t* bins) {
  std::size_t count = 0;
#ifdef __AVX2__
  count = grid.inverse_width >= 1 ? bins_of_eights<true>(values, grid, bins)
                                  : bins_of_eights<false>(values, grid, bins);
  values = values.subspan(values.size() / 8 * 8);
#endif
  for (const float x : values) {
    bins[count] = bin_of(x, grid);
    count += x == 0 ? 0 : 1;
  }
  return count;
}

}  // namespace tare
