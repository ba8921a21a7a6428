#pragma once

#include "tare/search.h"

#include <string>

namespace tare::test {

/// fake_engine.py of that kind.
inline EngineOptions fake_engine(const std::string& kind, double patience = 20) {
  return {.engine = "exec python3 '" TARE_SOURCE_DIR "/tests/engine/fake_engine.py' " + kind,
          .threads = 1,
          .patience = patience};
}

}  // namespace tare::test
