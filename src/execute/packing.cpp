#include "execute/packing.h"

#include "tare/error.h"

#include "base/parallel.h"
#include "execute/failure.h"
#include "execute/run/one_thread.h"

#include <exception>
#include <utility>

namespace tare {
namespace {

/// Constants that are converted for one kernel alone would otherwise all be there at once.
constexpr std::size_t kMostBytes = std::size_t{64} << 20U;

}  // namespace

Packing::Packing(int threads) : threads_(thread_count(threads)) {}

void Packing::add(std::size_t bytes, std::function<void()> job) {
  if (is_finished_) {
    job();
    return;
  }
  jobs_.push_back(std::move(job));
  bytes_ += bytes;
  if (bytes_ > kMostBytes) {
    do_all();
  }
}

void Packing::finish() {
  do_all();
  is_finished_ = true;
}

void Packing::do_all() try {
  const std::vector<std::function<void()>> jobs = std::exchange(jobs_, {});
  bytes_ = 0;
  parallel_for(jobs.size(), threads_, [&](std::size_t, std::size_t i) {
    const OneThread one_thread;
    jobs[i]();
  });
} catch (const Error&) {
  throw;
} catch (const std::exception& error) {
  throw failure("packing constants", error);
}

}  // namespace tare
