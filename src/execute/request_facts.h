#pragma once

#include "execute/kernel.h"

#include <string>

namespace tare {

/// "(f32[1,8,4,4], absent)", for messages.
std::string types_of(const KernelRequest&);

/// Whether any result has elements. Extents beside a 0 may be too large to be walked through.
bool has_results(const KernelRequest&);

/// Bytes of all results; not a count, as they may be more than there are addresses.
double result_bytes(const KernelRequest&);

}  // namespace tare
