#pragma once

#include <cstddef>
#include <functional>

namespace tare {

/// Number of threads meant by a request: itself when positive, else one per available core.
int thread_count(int requested);

/// Runs body(worker, index) for every index below `count` on up to `threads` threads. `worker` is
/// below `threads` and no two calls with the same worker overlap, so a body may keep one scratch
/// object per worker. Indices start in ascending order. When calls throw, the exception of the
/// lowest index is rethrown after all running calls have ended, so that errors do not depend on
/// timing.
void parallel_for(std::size_t count, int threads,
                  const std::function<void(std::size_t worker, std::size_t index)>& body);

/// Runs `produce(index)` ahead of `consume(worker, index, item)`: one thread produces in ascending
/// order, up to `threads` threads consume, and at most `ahead` items exist at once. Errors as in
/// parallel_for.
void pipeline(std::size_t count, int threads, std::size_t ahead,
              const std::function<std::shared_ptr<void>(std::size_t index)>& produce,
              const std::function<void(std::size_t worker, std::size_t index, void* item)>& consume);

}  // namespace tare
