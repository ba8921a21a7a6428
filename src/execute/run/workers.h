#pragma once

#include "tare/execute.h"

namespace tare {

/// Threads that may run it at once: as many as asked for (0: one per core), or as have room for
/// a workspace each within memory_limit().
int worker_count(const Executable&, int threads);

}  // namespace tare
