#pragma once

#include "onnxruntime_process.h"
#include "support/files/folder.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>

#include <gtest/gtest.h>

namespace tare::test {

/// Squares of differences, as a share of those of `ours`.
inline double relative_error(std::span<const float> ours, std::span<const float> theirs) {
  EXPECT_EQ(ours.size(), theirs.size());
  double squares = 0;
  double differences = 0;
  for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
    const auto y = static_cast<double>(ours[i]);
    squares += y * y;
    differences += std::pow(y - static_cast<double>(theirs[i]), 2);
  }
  return differences / squares;
}

/// A test in a folder of its own that asks a real ONNX Runtime; skipped where there is none.
class WithOnnxRuntime : public InFolder {
 protected:
  void SetUp() override {
    std::string why;
    runtime_ = OnnxRuntimeProcess::find(why);
    if (!runtime_) {
      GTEST_SKIP() << why;
    }
  }

  std::optional<OnnxRuntimeProcess> runtime_;
};

}  // namespace tare::test
