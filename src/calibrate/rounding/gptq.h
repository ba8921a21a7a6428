#pragma once

#include "tare/statistics.h"

#include "calibrate/statistics/shares.h"

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace tare {

/// What a matrix of weights is multiplied with, and which integers it may become.
struct RoundingTask {
  std::size_t columns = 0;  ///< weights of one output
  /// [rows, columns], integers of at most 255 that differ by no more than that.
  std::span<const float> rows;
  /// Where not empty: what 1 stands for in each column of the rows, the same for all of them
  /// otherwise.
  std::span<const float> units;
  /// For each row: true where it is held out. Without rows of either kind all weights are
  /// rounded to nearest.
  std::vector<bool> holdout;
  bool centred = false;  ///< the mean error of each output does not count
  float low = 0;         ///< of the integers
  float high = 0;
  /// Where not empty: for each column another one, or itself; the sum of their integers stays
  /// within +-pair_limit.
  std::vector<std::size_t> partner;
  float pair_limit = 0;
  /// Processes that share the work, all of which have the whole task; null: this one alone.
  /// Each rounds some of the outputs.
  Communicator* team = nullptr;
};

/// A matrix of weights, of which some outputs are in memory at a time. Both functions have to
/// be safe to call for different outputs at the same time.
struct WeightMatrix {
  std::size_t outputs = 0;
  bool has_steps = false;  ///< of its own for each weight; else all of one output are alike
  /// The weights of one output, in steps, within range; and how much of the output each of
  /// these steps is, where they have their own.
  std::function<void(std::size_t output, std::span<float> weights, std::span<float> steps)>
      read;
  /// Takes the integers of an output, and the weights as they were read.
  std::function<void(std::size_t output, std::span<const float> integers,
                     std::span<const float> weights)>
      write;
};

/// Rounds weights by GPTQ: such that the squared error of the outputs over the rows is small,
/// rather than that of each weight. An output is left rounded to nearest where the holdout
/// shows no gain. `threads` do not change the result. (Frantar et al., "GPTQ", which is Babai's
/// nearest plane algorithm; then single weights move while that helps.) With a team it reads
/// and writes what is rounded_by() this process.
void round_by_gptq(const RoundingTask&, const WeightMatrix&, int threads);

/// Which of so many outputs a process of the task's team rounds: all where there is none.
Share rounded_by(int rank, const RoundingTask&, std::size_t outputs);

}  // namespace tare
