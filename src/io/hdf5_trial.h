#pragma once

#include "tare/dataset.h"

#include <functional>

namespace tare::hdf5 {

/// What a child may compute for: 200,000 chunks take a tenth of one.
constexpr unsigned kUsualSeconds = 10;

/// Calls `reading` in a child process, where nothing it does is felt here. Throws
/// Error(kInvalidData) when the child crashes or computes for longer, which the HDF5 library
/// does on some damaged files; what `reading` throws is forgotten. Hold the lock of the
/// library.
void try_in_child(const std::function<void()>& reading, unsigned seconds = kUsualSeconds);

/// What `read` gives, after a trial where the options ask for one. The library must find the
/// state that it had in the trial, as it also reads memory that it did not write: nothing may
/// come between the two.
template <class Read>
auto read_with(const Hdf5Options& options, const Read& read, unsigned seconds = kUsualSeconds) {
  if (options.trial_in_child) {
    try_in_child([&] { (void)read(); }, seconds);
  }
  return read();
}

}  // namespace tare::hdf5
