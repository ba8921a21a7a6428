// A table of 256 bytes, looked up 64 bytes at a time where the processor has an instruction
// that picks bytes from two registers (AVX-512 VBMI): twice, as the table fills four. Elsewhere
// byte by byte, which takes about four cycles each. Compilers do not find this by themselves.
#include "execute/elements/byte_table.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define TARE_HAS_BYTE_PERMUTATION 1
#else
#define TARE_HAS_BYTE_PERMUTATION 0
#endif

namespace tare {
namespace {

#if TARE_HAS_BYTE_PERMUTATION
bool permutes_bytes() {
  static const bool result =
      __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vbmi") != 0;
  return result;
}

__attribute__((target("avx512f,avx512bw,avx512vbmi"))) void look_up_by_permutation(
    const std::uint8_t* table, const std::uint8_t* from, std::uint8_t* to, std::size_t count) {
  constexpr std::size_t kBytes = 64;
  const __m512i first = _mm512_loadu_si512(table);
  const __m512i second = _mm512_loadu_si512(table + kBytes);
  const __m512i third = _mm512_loadu_si512(table + 2 * kBytes);
  const __m512i fourth = _mm512_loadu_si512(table + 3 * kBytes);
  for (std::size_t i = 0; i < count; i += kBytes) {
    const std::size_t rest = count - i;
    const __mmask64 present = rest < kBytes ? (__mmask64{1} << rest) - 1 : ~__mmask64{0};
    const __m512i index = _mm512_maskz_loadu_epi8(present, from + i);
    const __m512i low = _mm512_permutex2var_epi8(first, index, second);
    const __m512i high = _mm512_permutex2var_epi8(third, index, fourth);
    const __mmask64 is_high = _mm512_movepi8_mask(index);
    _mm512_mask_storeu_epi8(to + i, present, _mm512_mask_blend_epi8(is_high, low, high));
  }
}
#endif

}  // namespace

void look_up(const std::uint8_t* table, const std::uint8_t* from, std::uint8_t* to,
             std::size_t count) {
#if TARE_HAS_BYTE_PERMUTATION
  if (permutes_bytes()) {
    look_up_by_permutation(table, from, to, count);
    return;
  }
#endif
  for (std::size_t i = 0; i < count; ++i) {
    to[i] = table[from[i]];
  }
}

}  // namespace tare

#undef TARE_HAS_BYTE_PERMUTATION
