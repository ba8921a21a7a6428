#pragma once

#include "tare/search.h"

#include "text.h"

#include <string>

namespace tare::cli {

/// What a search within a budget found, and the lines with which, added to the configuration,
/// `tare quantize` writes the same file. There has to be a mix.
std::string mix_text(const SearchResult&);

}  // namespace tare::cli
