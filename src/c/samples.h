#pragma once

#include "tare/dataset.h"

#include "c/array.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace tare::c {

/// Samples in arrays of the caller, one for each input and perhaps `labels`. Throws
/// Error(kInvalidData) with all that is wrong with them.
std::unique_ptr<Dataset> samples_of_arrays(std::vector<Array> arrays);

/// Samples that come in pieces, each as samples_of_arrays() takes them, until there is none;
/// kept in temporary files. Throws Error(kInvalidData) where pieces differ in more than their
/// number of samples.
std::unique_ptr<Dataset> samples_of_pieces(
    const std::function<bool(std::vector<Array>&)>& next);

/// Samples that a callback makes.
std::unique_ptr<Dataset> samples_of_source(const tare_source&);

}  // namespace tare::c
