#pragma once

#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/node.h"
#include "tare/statistics.h"

#include "lower/stored_caches.h"

#include <map>
#include <string>

namespace tare {

/// For each cache of the float graph the scales at which int8 holds the largest magnitude that
/// the samples show of each channel, or head. Runs the graph over them once. Throws
/// Error(kInvalidConfig) where it has no caches.
std::map<std::string, CacheScales> cache_scales(const Graph& prepared, const Dataset&,
                                                const CacheConfig&, const CalibrateOptions&);

}  // namespace tare
