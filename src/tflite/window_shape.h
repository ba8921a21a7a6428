#pragma once

#include "tflite/operator_import.h"

#include <cstdint>
#include <vector>

namespace tare::tflite {

/// A window that slides over height and width.
struct WindowShape {
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> strides;
  std::vector<std::int64_t> dilations;
  std::vector<std::int64_t> pads;    ///< top, left, bottom, right
  std::vector<std::int64_t> output;  ///< positions
};

/// Its pads and positions by the rule of that padding, SAME putting the odd one behind. Throws
/// Error(kInvalidModel) where the window has no size or no place.
WindowShape window_shape(const OperatorImport&, const std::vector<std::int64_t>& input,
                         WindowShape, schema::Padding);

}  // namespace tare::tflite
