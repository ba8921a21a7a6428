// What a plan says, done with one picture: its size, then the layout and the values of the
// input.
#include "tare/error.h"

#include "io/samples/picture_plan.h"
#include "io/samples/resize.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace tare {
namespace {

/// As torchvision's Resize: the longer side is cut to a whole number.
PictureSize with_shorter_side(PictureSize picture, std::int64_t shorter) {
  const bool is_wide = picture.width >= picture.height;
  const std::int64_t longer = is_wide ? shorter * picture.width / picture.height
                                      : shorter * picture.height / picture.width;
  return is_wide ? PictureSize{shorter, longer} : PictureSize{longer, shorter};
}

Picture fit_in(const Picture& picture, const PicturePlan& plan) {
  const double scale =
      std::min(static_cast<double>(plan.size.height) / static_cast<double>(picture.height),
               static_cast<double>(plan.size.width) / static_cast<double>(picture.width));
  const auto side = [&](std::int64_t from, std::int64_t most) {
    return std::clamp<std::int64_t>(std::lround(static_cast<double>(from) * scale), 1, most);
  };
  const PictureSize inner{side(picture.height, plan.size.height),
                          side(picture.width, plan.size.width)};
  const bool is_centred = plan.fit == Fit::kLetterbox;
  const std::int64_t top = is_centred ? (plan.size.height - inner.height) / 2 : 0;
  const std::int64_t left = is_centred ? (plan.size.width - inner.width) / 2 : 0;
  return padded(resized(picture, inner), plan.size, top, left, plan.fill);
}

Picture brought_to_size(const Picture& picture, const PicturePlan& plan) {
  switch (plan.fit) {
    case Fit::kCrop: {
      const PictureSize size =
          plan.shorter > 0 ? with_shorter_side({picture.height, picture.width}, plan.shorter)
                           : plan.resize;
      return cut_from_middle(resized(picture, size), plan.size);
    }
    case Fit::kStretch:
      return resized(picture, plan.size);
    case Fit::kLetterbox:
    case Fit::kCorner:
      return fit_in(picture, plan);
    case Fit::kNone: {
      const PictureSize own{picture.height, picture.width};
      const PictureSize size = sample_size(own, plan);
      return plan.shorter > 0
                 ? cut_from_middle(resized(picture, with_shorter_side(own, plan.shorter)), size)
                 : cut_from_middle(picture, size);
    }
  }
  return picture;
}

}  // namespace

PictureSize sample_size(PictureSize of_picture, const PicturePlan& plan) {
  if (plan.fit != Fit::kNone) {
    return plan.size;
  }
  const PictureSize whole =
      plan.shorter > 0 ? with_shorter_side(of_picture, plan.shorter) : of_picture;
  require_pixels(whole);
  const PictureSize size{whole.height / plan.multiple_of * plan.multiple_of,
                         whole.width / plan.multiple_of * plan.multiple_of};
  if (size.height == 0 || size.width == 0) {
    throw Error(
        ErrorCode::kInvalidData, "",
        "has " + std::to_string(whole.height) + " x " + std::to_string(whole.width) + " pixels")
        .expected("sides of at least " + std::to_string(plan.multiple_of) +
                  ", by 'multiple_of'");
  }
  return size;
}

DatasetInput sample_of_size(PictureSize size, const PicturePlan& plan) {
  DatasetInput result = plan.input;
  result.shape[plan.height_axis] = size.height;
  result.shape[plan.width_axis] = size.width;
  return result;
}

Tensor prepared_bytes(const Picture& picture, const PicturePlan& plan) {
  const Picture ready = brought_to_size(with_channels(picture, plan.channels()), plan);
  Shape shape = sample_of_size({ready.height, ready.width}, plan).shape;
  shape.insert(shape.begin(), 1);
  Tensor result(DType::kUint8, std::move(shape));
  const auto to = result.mutable_view<std::uint8_t>();
  const auto channels = static_cast<std::size_t>(plan.channels());
  const std::size_t pixels = to.size() / channels;
  for (std::size_t c = 0; c < channels; ++c) {
    const std::size_t from = plan.color == Color::kBgr ? channels - 1 - c : c;
    for (std::size_t i = 0; i < pixels; ++i) {
      to[plan.channels_last ? i * channels + c : c * pixels + i] =
          ready.bytes[i * channels + from];
    }
  }
  return result;
}

Tensor normalized_bytes(const Tensor& bytes, const PicturePlan& plan) {
  const Normalization& how = plan.normalization;
  if (!how) {
    return bytes;
  }
  const auto channels = static_cast<std::int64_t>(how.mean.size());
  if (channels == 1 || !plan.channels_last) {
    // Whatever the rank is, the channels follow the batch.
    return normalize(bytes.reshaped({1, plan.channels(), bytes.size() / plan.channels()}), how)
        .reshaped(bytes.shape());
  }
  Tensor result(DType::kFloat32, bytes.shape());
  const auto from = bytes.view<std::uint8_t>();
  const auto to = result.mutable_view<float>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t c = i % how.mean.size();
    to[i] = (static_cast<float>(from[i]) - how.mean[c]) / how.std[c];
  }
  return result;
}

}  // namespace tare
