#pragma once

#include "execute/kernel.h"

#include <memory>

namespace tare {

/// Whether both layouts of such a value have the same bytes (or only one layout exists).
bool layouts_coincide(const Shape&);

/// Copies a value of rank 3 or more from the other layout into `to`.
std::unique_ptr<Kernel> make_reorder(const TensorType&, Layout to);

/// A row-major copy of channels-last elements.
void copy_to_plain(const TensorType&, const std::byte* channels_last, std::byte* plain);
void copy_to_channels_last(const TensorType&, const std::byte* plain, std::byte* channels_last);

}  // namespace tare
