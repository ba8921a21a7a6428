#pragma once

#include "tare/calibrator.h"
#include "tare/statistics.h"

#include "base/bytes.h"
#include "calibrate/statistics/observed.h"

namespace tare {

// Statistics as bytes, by which processes tell each other what their samples showed.

void add(const TensorStatistics&, ByteWriter&);
void add(const ChannelStatistics&, ByteWriter&);
/// All but what an observer has.
void add(const Observed&, ByteWriter&);
/// Throw Error(kInvalidData) for bytes that are not of such statistics.
TensorStatistics read_tensor_statistics(ByteReader&);
ChannelStatistics read_channel_statistics(ByteReader&);
Observed read_observed(ByteReader&);

}  // namespace tare
