#include "processor.h"

#include "tare/error.h"

namespace tare::cli {

void require_processor() {
#ifdef TARE_NEEDS_AVX2
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
    throw Error(ErrorCode::kUnsupported, "this processor", "has no AVX2 and FMA instructions")
        .expected("x86-64-v3, for which this program was compiled")
        .hint("compile it with -DTARE_MARCH=x86-64");
  }
#endif
}

}  // namespace tare::cli
