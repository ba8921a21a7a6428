#include "execute/run/workers.h"

#include "tare/process.h"

#include "base/parallel.h"

#include <algorithm>

namespace tare {

int worker_count(const Executable& executable, int threads) {
  const std::size_t each = std::max<std::size_t>(executable.workspace_bytes(), 1);
  const std::size_t room = std::max<std::size_t>(memory_limit() / each, 1);
  return static_cast<int>(std::min(room, static_cast<std::size_t>(thread_count(threads))));
}

}  // namespace tare
