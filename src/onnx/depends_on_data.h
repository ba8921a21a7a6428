#pragma once

#include "tare/error.h"

#include <string>

namespace tare {

/// Thrown, with the code kUnsupported, for what has no static shape or is decided by something
/// that is known only when the network runs.
class DependsOnData : public Error {
 public:
  explicit DependsOnData(const std::string& what) : Error(ErrorCode::kUnsupported, "", what) {}
};

}  // namespace tare
