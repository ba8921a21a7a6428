#pragma once

#include "tare/quant_table.h"

#include "reconstruct/float_network.h"

#include <cstddef>
#include <functional>
#include <vector>

namespace tare {

/// What a block is learned from.
struct Lesson {
  const Block& block;
  const std::vector<ValueId>& compared;  ///< results whose error counts
  const std::vector<double>& weights;    ///< of the squared error of each
  const RunValues& quantized;            ///< its sources with the error of what came before
  const RunValues& exact;                ///< and without
  const RunValues& targets;
  const std::vector<std::size_t>& runs;  ///< that it is learned from
};

/// The part of the steps after which weights are integers.
inline constexpr double kDecidedAt = 0.8;

struct LearningPlan {
  std::size_t steps = 0;               ///< on 16 runs each
  bool rounds = true;                  ///< weights; else their integers stay
  std::function<void()> after_step{};  ///< what it throws ends the work
  bool drops = true;  ///< mixes quantized values with those of the float network
};

/// The table with what was learned of a block: its weights, their scales, its biases, and the
/// ranges of values that nothing before it reads. Begins with what is in the table. Throws
/// Error(kUnsupported) where an operator has no derivative. `threads` do not change the result.
QuantTable learn_block(const FloatNetwork&, const Lesson&, const QuantTable&,
                       const LearningPlan&, int threads);

}  // namespace tare
