#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace tare {

/// While it lives, this thread takes floats nearer to 0 than 2^-126 for 0, as operands and as
/// results: processors need a hundred times as long for one of them. Where their instructions
/// do not know it, nothing changes.
class FlushDenormals {
 public:
#if defined(__SSE__)
  FlushDenormals() : before_(_mm_getcsr()) {
    constexpr unsigned kResultsAndOperands = 0x8040;
    _mm_setcsr(before_ | kResultsAndOperands);
  }
  ~FlushDenormals() {
    _mm_setcsr(before_);
  }
#else
  FlushDenormals() {}
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

#if defined(__SSE__)
 private:
  unsigned before_;
#endif
};

}  // namespace tare
