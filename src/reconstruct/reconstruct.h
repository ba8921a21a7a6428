#pragma once

#include "tare/dataset.h"
#include "tare/quant_table.h"
#include "tare/simulate.h"
#include "tare/statistics.h"

#include "calibrate/sequential/level_journal.h"
#include "reconstruct/blocks.h"

#include <cstddef>
#include <optional>

namespace tare {

/// How long something is learned.
struct LearningSteps {
  std::size_t of_block = 0;
  std::size_t together = 0;  ///< of the whole network, in the end
};
/// 5000 and 500. Where a run has more than some 40 million multiplications, as many fewer as
/// keep the time about the same, but 200 and 20 at least.
LearningSteps usual_steps(const Graph&);

/// The table with weights, biases and ranges that are learned block by block, so that each
/// block gives on inputs with the error of the blocks before it what it gives in the float
/// network (Li et al., "BRECQ: Pushing the Limit of Post-Training Quantization by Block
/// Reconstruction", 2021; docs/quantization_math.md has the rest). One in four runs is a
/// holdout: what does not bring the results of a block closer there stays as it was, and so
/// does the whole table where the network's results do not come closer. Few images are learned
/// from together with copies that are moved (augmentation.h), other real samples with mixtures
/// of them; those of the holdout stay as they are. A block with an operator that has no
/// derivative stays as it is. Where memory is short it uses fewer runs,
/// spread over the data; CalibrateOptions::memory bounds what it caches. Blocks that the
/// journal knows are taken from there. `threads` do not change the result. Without steps they
/// are the usual ones.
QuantTable reconstruct(const SimulatedGraph&, const QuantTable&, const Dataset&, Grain,
                       const CalibrateOptions&, CalibrationAudit* = nullptr,
                       LevelJournal* = nullptr, std::optional<LearningSteps> = {});

}  // namespace tare
