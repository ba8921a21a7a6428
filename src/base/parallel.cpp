// A parallel loop with dynamic scheduling: threads take the next index from a counter, so
// uneven work is shared evenly, at the price of an atomic increment for each index. Bodies are
// to be large (a sample, a layer). As indices are handed out in order, everything below a
// failing one has started, and the error of the lowest is known in the end, whatever the
// timing.
#include "base/parallel.h"

#include "tare/error.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#ifdef TARE_THREADS_TBB
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>
#endif

namespace tare {
namespace {

/// Hands out indices and keeps the exception of the lowest failing one.
class Loop {
 public:
  Loop(std::size_t count, const std::function<void(std::size_t, std::size_t)>& body,
       const std::function<bool()>& stop)
      : count_(count), body_(body), stop_(stop) {}

  void work(std::size_t worker) {
    // Indices are handed out in order, so everything below a failing one has started already.
    while (!(stop_ && stop_())) {
      const std::size_t i = next_++;
      if (i >= count_ || i >= failed_.load()) {
        return;
      }
      try {
        body_(worker, i);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (i < failed_.load()) {
          failed_ = i;
          error_ = std::current_exception();
        }
      }
    }
  }

  /// Every index below it ran.
  std::size_t finish() const {
    if (error_) {
      std::rethrow_exception(error_);
    }
    return std::min(next_.load(), count_);
  }

 private:
  std::size_t count_;
  const std::function<void(std::size_t, std::size_t)>& body_;
  const std::function<bool()>& stop_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> failed_{std::numeric_limits<std::size_t>::max()};
  std::mutex mutex_;
  std::exception_ptr error_;
};

#ifdef TARE_THREADS_TBB
/// Arenas of oneTBB that no loop is running in. A loop borrows one: to make its own and take it
/// apart, while the threads in it still look for more to do, takes up to a millisecond, as long
/// as a step of learning a block.
class IdleArenas {
 public:
  class Borrowed {
   public:
    Borrowed(IdleArenas& from, std::size_t slots) : from_(from), slots_(slots) {
      const std::lock_guard lock(from_.mutex_);
      auto& idle = from_.by_slots_[slots];
      if (idle.empty()) {
        arena_ = std::make_unique<tbb::task_arena>(static_cast<int>(slots));
      } else {
        arena_ = std::move(idle.back());
        idle.pop_back();
      }
    }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    ~Borrowed() {
      const std::lock_guard lock(from_.mutex_);
      from_.by_slots_[slots_].push_back(std::move(arena_));
    }
    tbb::task_arena* operator->() const { return arena_.get(); }

   private:
    IdleArenas& from_;
    std::size_t slots_;
    std::unique_ptr<tbb::task_arena> arena_;
  };

 private:
  std::mutex mutex_;
  std::map<std::size_t, std::vector<std::unique_ptr<tbb::task_arena>>> by_slots_;
};

IdleArenas& idle_arenas() {
  static IdleArenas arenas;
  return arenas;
}
#endif

Error no_threads(const std::string& reason) {
  return Error(ErrorCode::kIo, "threads", "cannot be made: " + reason)
      .hint("one thread needs no others: '--threads 1'");
}

}  // namespace

int thread_count(int requested) {
  if (requested > 0) {
    return requested;
  }
#ifdef TARE_THREADS_TBB
  return tbb::info::default_concurrency();
#else
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
#endif
}

std::size_t parallel_for(std::size_t count, int threads,
                         const std::function<void(std::size_t, std::size_t)>& body,
                         const std::function<bool()>& stop) {
  Loop loop(count, body, stop);
  const auto workers = std::min(count, static_cast<std::size_t>(std::max(threads, 1)));
  if (workers <= 1) {
    loop.work(0);
    return loop.finish();
  }
#ifdef TARE_THREADS_TBB
  // One slot per worker, more than the machine has cores if that is what was asked for.
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, workers);
  const IdleArenas::Borrowed arena(idle_arenas(), workers);
  try {
    arena->execute([&] {
      tbb::parallel_for(
          std::size_t{0}, workers, [&](std::size_t worker) { loop.work(worker); },
          tbb::static_partitioner{});
    });
  } catch (const std::runtime_error& error) {  // of TBB itself: the loop keeps those of bodies
    throw no_threads(error.what());
  }
#else
  std::vector<std::thread> pool;
  std::string failure;
  try {
    for (std::size_t worker = 0; worker < workers; ++worker) {
      pool.emplace_back([&loop, worker] { loop.work(worker); });
    }
  } catch (const std::system_error& error) {
    failure = error.code().message();
  }
  for (std::thread& thread : pool) {
    thread.join();
  }
  if (!failure.empty()) {
    throw no_threads(failure);
  }
#endif
  return loop.finish();
}

}  // namespace tare
