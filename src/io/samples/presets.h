#pragma once

#include "tare/dataset.h"

#include <string>
#include <string_view>
#include <vector>

namespace tare {

/// A usual way of preparing pictures: x = (u * scale - mean) / std of bytes u.
struct Preset {
  std::string_view name;
  std::string_view summary;
  Fit fit = Fit::kStretch;
  Color color = Color::kRgb;
  std::int64_t side = 224;  ///< of inputs that leave it open
  std::uint8_t fill = 114;
  double scale = 1.0 / 255;
  std::vector<double> mean{0};
  std::vector<double> std{1};
};

std::vector<std::string> preset_names();
/// One of preset_names().
const Preset& preset_of(std::string_view name);
/// What models with such an input usually want.
const Preset& guessed_preset(const ModelInput&, std::int64_t channels, std::int64_t side,
                             bool channels_last);

}  // namespace tare
