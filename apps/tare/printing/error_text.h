#pragma once

#include "printing/console.h"

#include <string>

namespace tare::cli {

/// Says an Error::what(), of which each fault has a line, with hints and activities below.
void say_error(const std::string& message, const Console&);
/// The same of what the program, not its user, has to mend.
void say_bug(const std::string& message, const Console&);

}  // namespace tare::cli
