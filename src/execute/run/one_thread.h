#pragma once

#include <omp.h>

namespace tare {

/// While it lives, OpenMP code called by this thread (oneDNN, Eigen) stays on this thread:
/// samples are what runs in parallel. A thread starts with OpenMP's default of every core.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace tare
