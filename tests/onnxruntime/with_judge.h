#pragma once

#include "io/folder.h"
#include "judge.h"

#include <optional>
#include <string>

namespace tare {

/// A test in a folder of its own that asks a real ONNX Runtime; skipped where there is none.
class WithJudge : public InFolder {
 protected:
  void SetUp() override {
    std::string why;
    judge_ = Judge::find(why);
    if (!judge_) {
      GTEST_SKIP() << why;
    }
  }

  std::optional<Judge> judge_;
};

}  // namespace tare
