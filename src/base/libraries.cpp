#include "base/libraries.h"

#ifdef TARE_THREADS_TBB
#include <oneapi/tbb/version.h>
#endif

namespace tare {

std::vector<Library> base_libraries() {
#ifdef TARE_THREADS_TBB
  return {{"oneTBB", TBB_runtime_version()}};
#else
  return {};
#endif
}

}  // namespace tare
