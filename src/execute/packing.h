#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace tare {

/// What kernels have to do with their constants before they run for the first time, such as
/// writing weights in another order: put off while a program is made and then shared by
/// threads, as one after another it takes as long as running the network a few times.
class Packing {
 public:
  explicit Packing(int threads);  ///< 0: one per core

  /// Does it until finish() returns, or at once if that was called already. `bytes`: of what
  /// the job keeps in memory until it is done.
  void add(std::size_t bytes, std::function<void()> job);
  /// Throws Error where a job throws anything.
  void finish();

 private:
  void do_all();

  int threads_;
  std::size_t bytes_ = 0;
  std::vector<std::function<void()>> jobs_;
  bool is_finished_ = false;
};

}  // namespace tare
