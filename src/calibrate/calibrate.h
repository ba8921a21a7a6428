#pragma once

#include "tare/calibrator.h"
#include "tare/dataset.h"
#include "tare/quant_table.h"
#include "tare/statistics.h"

#include "calibrate/sequential/level_journal.h"

#include <span>

namespace tare {

/// Independent schedule: runs the simulated graph with every point disabled over the data,
/// once, and chooses all points from the statistics. Bias points follow from their input and
/// weight; where a bias would leave int32 the weight scale of that channel is widened. Biases
/// are corrected for the mean error of the weights where points ask for it (Nagel et al.,
/// Data-Free Quantization Through Weight Equalization and Bias Correction, 2019, section 4.2,
/// with means that are observed). The result does not depend on the number of threads. Throws
/// Error(kInvalidData) when data and graph inputs do not fit together, or hold NaN.
QuantTable calibrate(const SimulatedGraph&, const Dataset&, std::span<const CalibratorInfo>,
                     const CalibrateOptions& = {}, CalibrationAudit* = nullptr);

/// Sequential schedule: the same, with every point chosen from values that carry the error of
/// the points before it, as in AdaRound (Nagel et al., Up or Down? Adaptive Rounding for
/// Post-Training Quantization, 2020) and GPTQ. All samples advance through the simulated graph
/// level by level; what later levels need of them is cached in its quantized form. Each level
/// is run twice, once to observe its values and once more when they can be quantized, so it
/// takes about two passes over the data in all. Weights are rounded by GPTQ, for the least
/// error of their layer's results, where points ask for it (Frantar et al., GPTQ: Accurate
/// Post-Training Quantization for Generative Pre-trained Transformers, 2022). One in four runs
/// is a holdout: rounding, by output, and corrections of biases, by layer, stay only where they
/// help on these too. Where calibrators try others, each of these is primary in a pass of its
/// own, and their ranges are then combined by successive halving on some samples.
/// options.progress counts the samples of every level. Levels that the journal knows are taken
/// from there; the result is the same.
QuantTable calibrate_sequentially(const SimulatedGraph&, const Dataset&,
                                  std::span<const CalibratorInfo>, const CalibrateOptions& = {},
                                  CalibrationAudit* = nullptr, LevelJournal* = nullptr);

/// Decides every point from statistics alone. The audit cannot tell whether samples repeat.
/// Throws Error(kInvalidData) with every value that is missing from them, or when they are of
/// another model; Error(kInvalidConfig) for a calibrator that is not known.
QuantTable choose(const SimulatedGraph&, const Statistics&, std::span<const CalibratorInfo>,
                  CalibrationAudit* = nullptr, int threads = 1);

}  // namespace tare
