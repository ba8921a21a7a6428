#pragma once

#include "verb.h"

#include <string>
#include <vector>

namespace tare::cli {

/// What the program is for, in half a line.
inline constexpr const char* kPurpose =
    "quantizes float neural networks to int8, calibrated on real data";

std::string general_help(const std::vector<NamedVerb>&, const Terminal&);
std::string verb_help(const NamedVerb&, const Terminal&);

/// The summary with choices and default.
std::string full_summary(const Argument&);
std::string full_summary(const Flag&);
/// "tare quantize MODEL -o FILE [options]"
std::string usage(const Syntax&);

}  // namespace tare::cli
