#pragma once

#include "io/samples/picture.h"

namespace tare {

/// Bilinear with antialiasing, as Pillow resizes bytes: where a picture becomes smaller, the
/// triangle is as much wider. Weights are fixed point of 22 bits, first along rows, then along
/// columns, and both passes round to bytes.
Picture resized(const Picture&, PictureSize);

/// The rectangle of that size in the middle, as torchvision's CenterCrop takes it: where what
/// is cut off is odd, half to even. It has to lie within.
Picture cut_from_middle(const Picture&, PictureSize);

/// The picture with bytes of `fill` beside it.
Picture padded(const Picture&, PictureSize, std::int64_t top, std::int64_t left,
               std::uint8_t fill);

}  // namespace tare
