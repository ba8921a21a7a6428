#pragma once

#include "printing/terminal.h"

#include <string>

namespace tare::cli {

/// A configuration file that says what holds without one, with what every key means; below it
/// an entry of `layers:` with all its keys, as a comment.
std::string config_help(const Terminal&);

}  // namespace tare::cli
