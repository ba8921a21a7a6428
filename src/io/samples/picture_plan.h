#pragma once

#include "tare/dataset.h"

#include "io/normalize.h"
#include "io/samples/picture.h"

#include <functional>
#include <string>

namespace tare {

/// What is done with a picture to make it a sample of an input.
struct PicturePlan {
  Fit fit = Fit::kStretch;
  std::int64_t shorter =
      0;               ///< side that pictures are resized to before the cut; 0: see resize
  PictureSize resize;  ///< of kCrop without `shorter`
  PictureSize size;    ///< of the result, unless each picture keeps its own
  std::int64_t multiple_of = 1;  ///< of sides that are kept
  Color color = Color::kRgb;
  bool channels_last = false;
  std::uint8_t fill = 0;
  Normalization normalization;  ///< of bytes; none where the input takes these
  DatasetInput input;           ///< what samples of that size are
  std::size_t height_axis = 0;  ///< of these
  std::size_t width_axis = 0;

  std::int64_t channels() const { return color == Color::kGray ? 1 : 3; }
};

/// Throws Error(kInvalidConfig) with all that does not fit the input: its rank, its extents, or
/// one that is left open and not said.
PicturePlan plan_pictures(const ModelInput&, const InputPreparation&,
                          const std::function<void(const std::string&)>& notice);

/// The size of the sample that a picture becomes. Throws Error(kInvalidData) with an empty
/// `where` for one that is smaller than sides have to be.
PictureSize sample_size(PictureSize of_picture, const PicturePlan&);

/// What a sample of that size is.
DatasetInput sample_of_size(PictureSize, const PicturePlan&);

/// The bytes of a sample, in the layout of the input.
Tensor prepared_bytes(const Picture&, const PicturePlan&);

/// [1, ...shape] of bytes in the layout of the plan as values of the input.
Tensor normalized_bytes(const Tensor& bytes, const PicturePlan&);

}  // namespace tare
