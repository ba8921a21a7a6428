#pragma once

#include "tare/calibrator.h"
#include "tare/process.h"
#include "tare/quant_table.h"

#include "calibrate/statistics/observed.h"

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace tare {

/// Throws Error(kInvalidConfig) for a calibrator that is not known or has no such option.
void require_calibrators(const SimulatedGraph&, std::span<const CalibratorInfo>);

/// The calibrators that a choice stands for: itself, or those that it tries.
std::vector<CalibratorChoice> candidates(const CalibratorChoice&,
                                         std::span<const CalibratorInfo>);

/// What shall look at the point's values, or null.
std::unique_ptr<Observer> make_observer(const QuantPoint&, std::span<const CalibratorInfo>);
/// What shall observe values that this point, or none, quantizes: without a histogram where no
/// calibrator needs one. Processes tell each other histograms, so a team has them all.
Observed start_observing(const QuantPoint*, std::span<const CalibratorInfo>,
                         const Communicator* team);

/// What else is known of the values of a point.
struct AboutValues {
  std::optional<double> lowest_score{};  ///< see masked_scores.h
  /// Of what a Relu behind a sum shows of them (rectified_sum.h); empty: nothing hides a part
  /// of them, or it is not known.
  TensorStatistics visible{};
};

/// What the point's calibrator chooses; one result for each where it tries several. `observer`
/// is what make_observer() made, after it saw the values. Throws Error(kInvalidData) when NaN
/// or infinities were observed, Error(kInvalidConfig) when an observer is missing. Where
/// the `lowest_score` is above what was observed, the range goes from it to the highest value,
/// but for calibrators whose ranges are the user's own or hold every value. Where `visible` is
/// known, that is what the error behind is of, see CalibrationPoint.
std::vector<PointResult> choose_activation(const SimulatedGraph&,
                                           const TensorStatistics& observed,
                                           const Observer* observer, const QuantPoint&,
                                           std::span<const CalibratorInfo>,
                                           const AboutValues& = {});
/// Widens the range by 1/4096. Values of a simulated graph are multiples of earlier steps, and
/// a range that ends at one of them makes a step that is a ratio of small numbers to those:
/// whole classes of values would lie halfway between two steps, where the last bit of a float
/// product decides and engines differ. A range that the user gave stays, and one for powers of
/// two: products with these are exact, and a full grid would become one of twice the step.
void avoid_rounding_ties(const QuantSpec&, std::span<const CalibratorInfo>, PointResult&);
/// Adds all weights to the table.
void choose_weights(const SimulatedGraph&, std::span<const CalibratorInfo>, int threads,
                    QuantTable&);

}  // namespace tare
