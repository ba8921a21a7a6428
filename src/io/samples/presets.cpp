// Ways of preparing pictures that are usual enough to have a name, each as those who trained
// with it wrote it down: torchvision, TensorFlow's and Keras' Inception and ResNet,
// Ultralytics' YOLO, YOLOX, InsightFace.
#include "io/samples/presets.h"

#include "base/check.h"

#include <algorithm>
#include <array>

namespace tare {
namespace {

const std::vector<Preset>& all_presets() {
  static const std::vector<Preset> presets{
      {.name = "imagenet",
       .summary = "classifiers of PyTorch: 8/7 of the size on the shorter side, cut out of the "
                  "middle, mean and deviation of ImageNet",
       .fit = Fit::kCrop,
       .mean = {0.485, 0.456, 0.406},
       .std = {0.229, 0.224, 0.225}},
      {.name = "imagenet-tf",
       .summary = "classifiers of TensorFlow (MobileNet, Inception): the same cut, -1 to 1",
       .fit = Fit::kCrop,
       .scale = 1 / 127.5,
       .mean = {1}},
      {.name = "imagenet-caffe",
       .summary =
           "classifiers of Caffe and Keras (ResNet, VGG): the same cut, BGR less its mean",
       .fit = Fit::kCrop,
       .color = Color::kBgr,
       .scale = 1,
       .mean = {103.939, 116.779, 123.68}},
      {.name = "yolo",
       .summary = "detectors of Ultralytics: fit in with gray bars, 0 to 1",
       .fit = Fit::kLetterbox,
       .side = 640},
      {.name = "yolox",
       .summary = "YOLOX: fit into the upper left corner, BGR, 0 to 255",
       .fit = Fit::kCorner,
       .color = Color::kBgr,
       .side = 640,
       .scale = 1},
      {.name = "face",
       .summary = "faces of InsightFace: stretched, (u - 127.5) / 127.5",
       .side = 112,
       .scale = 1 / 127.5,
       .mean = {1}},
      {.name = "gray", .summary = "one channel: stretched, 0 to 1", .color = Color::kGray},
      {.name = "unit", .summary = "stretched, 0 to 1"},
      {.name = "bytes", .summary = "stretched, 0 to 255", .scale = 1}};
  return presets;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> presets() {
  std::vector<std::pair<std::string, std::string>> result;
  for (const Preset& preset : all_presets()) {
    result.emplace_back(preset.name, preset.summary);
  }
  return result;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& preset : all_presets()) {
    names.emplace_back(preset.name);
  }
  return names;
}

const Preset& preset_of(std::string_view name) {
  const auto found = std::find_if(all_presets().begin(), all_presets().end(),
                                  [&](const Preset& preset) { return preset.name == name; });
  check(found != all_presets().end(), "a preset that does not exist");
  return *found;
}

const Preset& guessed_preset(const ModelInput& input, std::int64_t channels, std::int64_t side,
                             bool channels_last) {
  constexpr std::int64_t kDetectors = 416;  // classifiers are rarely as large
  constexpr std::int64_t kFaces = 112;
  if (!is_float(input.dtype)) {
    return preset_of("bytes");
  }
  if (channels == 1) {
    return preset_of("gray");
  }
  if (side >= kDetectors) {
    return preset_of("yolo");
  }
  if (side == kFaces) {
    return preset_of("face");
  }
  return preset_of(channels_last ? "imagenet-tf" : "imagenet");
}

}  // namespace tare
