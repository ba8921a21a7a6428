#pragma once

#include "tare/tensor.h"

#include "reconstruct/float_network.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace tare {

/// How an image is changed so that it still shows the same.
struct ImageMove {
  bool mirrored = false;   ///< left and right
  std::int64_t down = 0;   ///< in pixels
  std::int64_t right = 0;  ///< likewise, after mirroring
};

/// Whether a value looks like colour images of float: rank 4 with 3 channels, in the second
/// axis or the last, and at least 8 pixels in height and width. One channel may be a
/// spectrogram, which shows something else when it is mirrored.
bool is_image(DType, const Shape&);

/// Whether there are images among these values.
bool has_images(const RunValues&);

/// The images moved. What moves in from behind an edge repeats the pixels at the edge.
Tensor moved(const Tensor& images, const ImageMove&);

/// Appends `count` runs, each one of `parts` by turns with its images moved at random: mirrored
/// or not, and by up to an eighth of height and width. Values that are no images stay as they
/// are. What is wanted of such a run is what the float network gives for it, so it needs no
/// label.
void add_moved(RunValues&, std::span<const std::size_t> parts, std::size_t count);

}  // namespace tare
