#pragma once

#include "tare/error.h"

#include <string>

namespace tare {

/// For our own bugs only: user input must never reach a failing check.
inline void check(bool condition, const char* what) {
  if (!condition) {
    throw Error(ErrorCode::kInternal, "", what);
  }
}

}  // namespace tare
