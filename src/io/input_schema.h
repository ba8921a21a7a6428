#pragma once

#include "tare/config.h"

#include "io/config_rules.h"
#include "io/samples/presets.h"

#include <optional>

namespace tare {

// The keys of an entry of `inputs`: how files become samples; see config_schema.h.

template <class Visitor>
void describe_picture(Visitor& visit, InputPreparation& input) {
  visit.key("fit", input.fit,
            one_of<std::optional<Fit>>({{"crop", Fit::kCrop},
                                        {"stretch", Fit::kStretch},
                                        {"letterbox", Fit::kLetterbox},
                                        {"corner", Fit::kCorner},
                                        {"none", Fit::kNone}}),
            "how pictures get their size: resized and cut out of the middle, stretched, with "
            "bars on both sides or beside the upper left corner, or none: each keeps its own, "
            "where the model leaves height and width open");
  visit.values("resize", input.resize, with_example(integer(1, 65'536), "256"),
               "what pictures are resized to first: the shorter side, or [height, width]");
  visit.values("crop", input.crop, with_example(integer(1, 65'536), "224"),
               "what is cut out of the middle: one size, or [height, width]");
  visit.key("layout", input.channels_last,
            one_of<std::optional<bool>>({{"nchw", false}, {"nhwc", true}}),
            "where the channels are; by default as the shape of the input says");
  visit.key("color", input.color,
            one_of<std::optional<Color>>(
                {{"rgb", Color::kRgb}, {"bgr", Color::kBgr}, {"gray", Color::kGray}}),
            "which channels pictures have");
  visit.key("fill", input.fill, with_example(integer(0, 255), "114"),
            "the byte beside a picture that was fit in");
}

template <class Visitor>
void describe(Visitor& visit, InputPreparation& input) {
  visit.key("preset", input.preset, known_name("preset", preset_names()),
            "how pictures are prepared, but for the keys below; by default guessed from the "
            "shape of the input");
  describe_picture(visit, input);
  visit.key("scale", input.scale, fraction(),
            "bytes of pictures, or amplitudes of recordings, are multiplied by this first");
  visit.values("mean", input.mean, with_example(real(), "0.5"),
               "and this subtracted: one number, or one for each channel");
  visit.values("std", input.std, with_example(positive(), "0.25"), "and divided by this");
  visit.key("rate", input.rate, with_example(integer(1), "16000"),
            "samples per second that recordings must have");
  visit.key(
      "length", input.length, with_example(integer_or("whole", kWholeLength, 1), "16000"),
      "samples of the windows that recordings are cut into; whole: each file is one sample "
      "of its own length, where the model leaves that open");
  visit.key("multiple_of", input.multiple_of, with_example(integer(1), "32"),
            "sides of pictures that keep their size, and lengths of whole recordings, are cut "
            "to a multiple of this: pictures to their middle, recordings at their end");
  visit.values("shape", input.shape, with_example(integer(1), "[3, 224, 224]"),
               "shape of a sample in files of raw numbers");
  visit.key("dtype", input.dtype,
            one_of<std::optional<DType>>({{"float32", DType::kFloat32},
                                          {"float64", DType::kFloat64},
                                          {"float16", DType::kFloat16},
                                          {"int8", DType::kInt8},
                                          {"uint8", DType::kUint8},
                                          {"int16", DType::kInt16},
                                          {"uint16", DType::kUint16},
                                          {"int32", DType::kInt32},
                                          {"int64", DType::kInt64}}),
            "type of the numbers in them, lowest byte first");
  visit.key(
      "batch_axis", input.batch_axis,
      one_of<std::optional<std::int64_t>>(
          {{"none", -1}, {"0", 0}, {"1", 1}, {"2", 2}, {"3", 3}}),
      "axis of the input that the batch is on, 1 where sequences come first; by default 0, "
      "or as the shapes of samples say");
}

}  // namespace tare
