#pragma once

#include "fuzz/choices.h"

#include <string>
#include <vector>

namespace tare::fuzz {

/// Texts of `--set`, some of which may contradict others or be out of range.
std::vector<std::string> any_settings(Choices&);

}  // namespace tare::fuzz
