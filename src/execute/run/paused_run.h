#pragma once

#include "tare/execute.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tare {

/// A run that waits before one of its steps, so that others, which differ from it in later
/// steps alone, branch off there: what they have in common is computed once. Where branches
/// come in the order of the network, so that the run never has to start again, n of them that
/// differ in a place each take the time of about n / 2 runs.
class PausedRun {
 public:
  /// That executable has to outlive it.
  PausedRun(const Executable&, std::vector<Tensor> inputs);

  /// The same with other inputs.
  void restart(std::vector<Tensor> inputs);

  /// The first step that other inputs, or the constants of an executable that was exchanged()
  /// from that one, make a difference to.
  std::size_t first_difference(const Executable& branch, std::span<const Tensor> inputs) const;
  /// What `branch`, which is that executable or was exchanged() from it, gives for these
  /// inputs, to the bit. The workspace is that of `branch`; it is made when it is needed.
  std::vector<Tensor> results(const Executable& branch, std::optional<Executable::Workspace>&,
                              std::span<const Tensor> inputs);

 private:
  /// Before that step.
  void wait_before(std::size_t step);

  const Executable* executable_;
  std::vector<Tensor> inputs_;
  std::optional<Executable::Workspace> workspace_;  ///< once there is something to remember
  std::size_t step_ = 0;
};

}  // namespace tare
