#pragma once

#include "tare/dataset.h"
#include "tare/graph.h"
#include "tare/statistics.h"

#include "configuration.h"
#include "flags.h"
#include "printing/console.h"

#include <string>

namespace tare::cli {

/// --dry-run: prints what quantizing is expected to take.
void say_dry_run(const Options&, const std::string& file, const Graph& model, const Dataset&,
                 const Config&, const Toolkit&, const Console&);

/// --time: sets the effort to the most that is expected to end in time, of those up to
/// --effort; where none is, to fast, with a warning. Of ranks the first one decides.
/// Returns what the summary says of it.
std::string fit_effort(const Options&, const Graph& model, const Dataset&, Configuration&,
                       const Console&, Communicator*);

}  // namespace tare::cli
