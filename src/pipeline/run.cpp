
#include "tare/execute.h"
#include "tare/graph.h"
#include "tare/model_files.h"
#include "tare/quantize.h"

#include "base/parallel.h"
#include "execute/run/feed.h"
#include "execute/run/workers.h"
#include "graph/operators/float_types.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>

namespace tare {
namespace {

/// Chunks that are worked on in any order and leave in ascending order. Only those in a window
/// behind the next one to leave are begun, so that what waits is bounded however long that one
/// takes.
template <class Result>
class ChunkWindow {
 public:
  using Results = std::vector<Result>;

  explicit ChunkWindow(std::size_t size) : size_(size) {}

  /// Waits until the chunk is in the window; false where that will never be, since another one
  /// failed.
  bool enter(std::size_t chunk) {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [&] { return failed_ || chunk < next_ + size_; });
    return chunk < next_ + size_;
  }

  /// Calls `leave` for this chunk and those that waited for it, as far as those before them
  /// have left. Never twice at once, and never after it threw.
  template <class Leave>
  void finish(std::size_t chunk, Results results, const Leave& leave) {
    const std::lock_guard lock(mutex_);
    if (leave_failed_) {
      return;
    }
    finished_.emplace(chunk, std::move(results));
    leave_failed_ = true;  // unless it returns
    for (auto ready = finished_.find(next_); ready != finished_.end();
         ready = finished_.find(next_)) {
      leave(next_, std::move(ready->second));
      finished_.erase(ready);
      ++next_;
    }
    leave_failed_ = false;
    moved_.notify_all();
  }

  void fail() {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    moved_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable moved_;
  std::map<std::size_t, Results> finished_;
  std::size_t size_;
  std::size_t next_ = 0;
  bool failed_ = false;        ///< a chunk, so that those behind it may never leave
  bool leave_failed_ = false;  ///< what takes the results
};

}  // namespace

bool are_whole_inputs(const Graph& graph, const Dataset& data) {
  const auto inputs = graph.inputs();
  return std::any_of(data.inputs().begin(), data.inputs().end(), [&](const auto& given) {
    return std::any_of(inputs.begin(), inputs.end(), [&](ValueId id) {
      const Shape& shape = graph.type(id).shape;
      return graph.name(id) == given.name && !shape.empty() &&
             is_whole_input(given.shape, shape);
    });
  });
}

namespace {

/// `finish` makes the result of a run of its inputs and outputs.
template <class Result, class Finish>
void run_each(const Graph& graph, const Dataset& data, int threads, std::size_t samples,
              const Finish& finish, const std::function<void(std::size_t, Result)>& take,
              const std::function<void(std::size_t, std::size_t)>& progress) {
  using Window = ChunkWindow<Result>;
  const Executable executable(graph, {.observe = {}, .precise = true, .threads = threads});
  const Feed feed(graph, data, samples);
  const int workers = worker_count(executable, threads);
  std::vector<std::optional<Executable::Workspace>> workspaces(
      static_cast<std::size_t>(workers));
  // One that is done and one in work for each worker keep all busy while chunks take about as
  // long as each other.
  Window window(2 * static_cast<std::size_t>(workers));
  std::size_t next_run = 0;
  std::size_t done = 0;
  const auto leave = [&](std::size_t chunk, typename Window::Results results) {
    for (Result& result : results) {
      take(next_run++, std::move(result));
    }
    done += feed.samples_in(chunk);
    if (progress) {
      progress(done, feed.samples());
    }
  };
  parallel_for(feed.chunks(), workers, [&](std::size_t worker, std::size_t chunk) {
    if (!window.enter(chunk)) {
      return;
    }
    try {
      auto& workspace = workspaces[worker];
      if (!workspace) {
        workspace.emplace(executable);
      }
      typename Window::Results results;
      feed.for_each_run(chunk, [&](std::size_t, std::span<const Tensor> inputs) {
        results.push_back(finish(inputs, executable.run(*workspace, inputs)));
      });
      window.finish(chunk, std::move(results), leave);
    } catch (...) {
      window.fail();
      throw;
    }
  });
}

}  // namespace

void run_dataset(const Graph& graph, const Dataset& data, int threads, std::size_t samples,
                 const std::function<void(std::size_t, std::vector<Tensor>)>& take,
                 const std::function<void(std::size_t, std::size_t)>& progress) {
  run_each<std::vector<Tensor>>(
      graph, data, threads, samples,
      [](std::span<const Tensor>, std::vector<Tensor> outputs) { return outputs; }, take,
      progress);
}

void run_model(const Graph& graph, const Dataset& data, int threads, std::size_t samples,
               const std::function<void(std::size_t, std::map<std::string, Tensor>)>& take,
               const std::function<void(std::size_t, std::size_t)>& progress) {
  std::optional<TailRunner> tail;
  if (graph.tail) {
    tail.emplace(*graph.tail);
  }
  const auto finish = [&](std::span<const Tensor> inputs, std::vector<Tensor> outputs) {
    std::map<std::string, Tensor> results;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      results.emplace(graph.name(graph.outputs()[i]), std::move(outputs[i]));
    }
    if (!tail) {
      return results;
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      results.emplace(graph.name(graph.inputs()[i]), inputs[i]);
    }
    std::map<std::string, Tensor> read;
    for (const std::string& name : graph.tail->inputs) {
      const auto type = graph.file_types.find(name);
      const Tensor& value = results.at(name);
      read.emplace(name,
                   type == graph.file_types.end() ? value : in_float_type(value, type->second));
    }
    results.merge(tail->run(read, evaluate));
    std::erase_if(results, [&](const auto& result) {
      const auto& outputs_of_model = graph.tail->outputs;
      return std::find(outputs_of_model.begin(), outputs_of_model.end(), result.first) ==
             outputs_of_model.end();
    });
    return results;
  };
  run_each<std::map<std::string, Tensor>>(graph, data, threads, samples, finish, take,
                                          progress);
}

}  // namespace tare
