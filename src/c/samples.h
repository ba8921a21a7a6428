#pragma once

#include "tare/dataset.h"

#include "c/array.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace tare::c {

/// Samples in arrays of the caller, one for each input and perhaps `labels`, in one piece or
/// several. Throws Error(kInvalidData) with all that is wrong with them, and where pieces
/// differ in more than their number of samples and the extents of these.
std::unique_ptr<Dataset> samples_of_arrays(std::vector<std::vector<Array>> pieces);

/// Pieces that come one after another until there is none, and are kept in temporary files.
std::unique_ptr<Dataset> samples_of_stream(
    const std::function<bool(std::vector<Array>&)>& next);

/// Samples that a callback makes.
std::unique_ptr<Dataset> samples_of_source(const tare_source&);

}  // namespace tare::c
