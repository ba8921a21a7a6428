#pragma once

#include "tare/dataset.h"
#include "tare/node.h"

#include "flags.h"
#include "printing/console.h"

#include <string>

namespace tare::cli {

/// --stage
Flag stage_flag(std::string fallback);
/// The model as it is after the stage that --stage names, for the configuration of the options.
/// Stages behind calibration are calibrated on the data; it may be null where they need none.
Graph graph_at_stage(const Options&, const Dataset*, const Console&);

}  // namespace tare::cli
