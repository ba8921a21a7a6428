#pragma once

#include <array>
#include <string_view>

namespace tare {

/// The attributes become operands 1, 2, ...
struct MovedAttributes {
  std::string_view op;
  int last_opset;
  std::array<const char*, 3> names;
};

inline constexpr std::array kMovedAttributes{
    MovedAttributes{"Clip", 10, {"min", "max"}},
    MovedAttributes{"Pad", 10, {"pads", "value"}},
    MovedAttributes{"Slice", 9, {"starts", "ends", "axes"}},
    MovedAttributes{"TopK", 9, {"k"}},
    MovedAttributes{"Upsample", 8, {"scales"}},
    MovedAttributes{"Dropout", 11, {"ratio"}},
    MovedAttributes{"Squeeze", 12, {"axes"}},
    MovedAttributes{"Unsqueeze", 12, {"axes"}},
    MovedAttributes{"Split", 12, {"split"}},
    MovedAttributes{"ReduceSum", 12, {"axes"}},
};

}  // namespace tare
