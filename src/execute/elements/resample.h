#pragma once

#include "execute/kernel.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tare {

/// The attributes of Resize and what it does along one axis.
struct ResampleRule {
  std::string mode;        ///< nearest, linear, cubic
  std::string coordinate;  ///< coordinate_transformation_mode
  std::string nearest;     ///< nearest_mode
  double cubic_a = -0.75;
  bool exclude_outside = false;
  bool antialias = false;  ///< where an axis shrinks, all elements on the way count

  /// Every element of the result is one of the operand's.
  bool only_moves() const { return mode == "nearest" && coordinate != "tf_crop_and_resize"; }
};

/// Reads and checks the attributes.
ResampleRule resample_rule(const KernelRequest&);

struct ResampleAxis {
  std::int64_t input = 1;   ///< extent of the operand
  std::int64_t output = 1;  ///< extent of the result
  double scale = 1;
  double length = 1;     ///< of the result, before it was rounded
  double roi_start = 0;  ///< only of tf_crop_and_resize
  double roi_end = 1;
};

/// One result position as a weighted sum of operand positions.
struct Taps {
  std::size_t width = 1;            ///< taps per position
  std::vector<std::int64_t> index;  ///< `width` per position, inside of the operand
  std::vector<float> weight;        ///< beside `index`
  std::vector<bool> outside;        ///< per position: the extrapolation value belongs there
  bool identity = false;            ///< the axis stays as it is
};
Taps make_taps(const ResampleRule&, const ResampleAxis&);

}  // namespace tare
