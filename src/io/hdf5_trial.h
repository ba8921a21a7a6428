#pragma once

#include <functional>

namespace tare::hdf5 {

/// Calls `reading` in a copy of this process, where nothing it does is felt here. Throws
/// Error(kInvalidData) when the copy crashes or computes without end, which the HDF5 library
/// does on some damaged files; what `reading` throws is forgotten. Hold the lock of the
/// library.
void try_in_copy(const std::function<void()>& reading);

/// What `read` gives, after a trial. The library must find the state that it had in the trial,
/// as it also reads memory that it did not write: nothing may come between the two.
template <class Read>
auto read_after_trial(const Read& read) {
  try_in_copy([&] { (void)read(); });
  return read();
}

}  // namespace tare::hdf5
