#pragma once

#include "tare/quant_table.h"
#include "tare/statistics.h"

#include "calibrate/statistics/sample_digests.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tare {

/// Shares of the values that a range chosen for that spec leaves outside. A bin that the range
/// ends in counts in proportion.
Clipped clipped_shares(const TensorStatistics& observed, Range calibrated, const QuantSpec&);

// What may be a mistake; nothing where all is well.

/// A calibrator that is there to clip left nothing outside: the histogram gave it no reason, or
/// its setting does nothing.
std::optional<Warning> full_range(const QuantPoint&, const PointResult&,
                                  std::span<const CalibratorInfo>);
/// Channels that were 0 all the time.
std::optional<Warning> dead_channels(const std::string& value, const ChannelStatistics&);
std::optional<Warning> repeated_samples(std::vector<SampleDigests::Sample>);

// Both do nothing when the audit is null.

/// Says which samples were read.
void audit_samples(const SampleDigests&, CalibrationAudit*);
/// Adds what there is to say of one activation; `channels` may be null.
void audit_activation(const QuantPoint&, const PointResult&, std::span<const CalibratorInfo>,
                      const ChannelStatistics* channels, CalibrationAudit*);

}  // namespace tare
