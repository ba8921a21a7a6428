#include "tare/pipeline.h"

#include "base/parallel.h"
#include "execute/feed.h"
#include "execute/workers.h"

#include <mutex>
#include <optional>

namespace tare {

void run_dataset(const Graph& graph, const Dataset& data, int threads, std::size_t samples,
                 const std::function<void(std::size_t, std::vector<Tensor>)>& take,
                 const std::function<void(std::size_t, std::size_t)>& progress) {
  const Executable executable(graph, {.observe = {}, .precise = true});
  const Feed feed(graph, data, samples);
  const int workers = worker_count(executable, threads);
  std::vector<std::optional<Executable::Workspace>> workspaces(
      static_cast<std::size_t>(workers));
  // Chunks end in any order but leave in ascending order. Indices start in order, so at most
  // one chunk per worker waits here.
  std::map<std::size_t, std::vector<std::vector<Tensor>>> finished;
  std::size_t next_chunk = 0;
  std::size_t next_run = 0;
  std::size_t done = 0;
  std::mutex mutex;
  parallel_for(feed.chunks(), workers, [&](std::size_t worker, std::size_t chunk) {
    auto& workspace = workspaces[worker];
    if (!workspace) {
      workspace.emplace(executable);
    }
    std::vector<std::vector<Tensor>> results;
    feed.for_each_run(chunk, [&](std::size_t, std::span<const Tensor> inputs) {
      results.push_back(executable.run(*workspace, inputs));
    });
    const std::lock_guard lock(mutex);
    finished.emplace(chunk, std::move(results));
    for (auto ready = finished.find(next_chunk); ready != finished.end();
         ready = finished.find(next_chunk)) {
      for (auto& outputs : ready->second) {
        take(next_run++, std::move(outputs));
      }
      done += feed.samples_in(next_chunk++);
      finished.erase(ready);
    }
    if (progress) {
      progress(done, feed.samples());
    }
  });
}

}  // namespace tare
