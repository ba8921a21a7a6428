#pragma once

#include <cstddef>
#include <functional>

namespace tare {

/// Number of threads meant by a request: itself when positive, else one per available core.
int thread_count(int requested);

/// Runs body(worker, index) for every index below `count` on up to `threads` threads. `worker`
/// is below `threads` and no two calls with the same worker overlap, so a body may keep one
/// scratch object per worker. Indices start in ascending order. When calls throw, the exception
/// of the lowest index is rethrown after all running calls have ended, so that errors do not
/// depend on timing. Once `stop` (may be empty; called from any thread) says true, no further
/// index starts. Returns how many ran: always the first ones.
std::size_t parallel_for(std::size_t count, int threads,
                         const std::function<void(std::size_t worker, std::size_t index)>& body,
                         const std::function<bool()>& stop = {});

}  // namespace tare
