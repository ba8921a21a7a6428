#pragma once

#include "tare/dataset.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tare {

/// The labels, for those who can do without: nothing where labels() throws Error(kInvalidData).
std::optional<std::vector<std::int64_t>> usable_labels(const Dataset&);

}  // namespace tare
