#include "tflite/libraries.h"

#include <string>

#include <flatbuffers/base.h>

namespace tare {

/// Of its headers, which is all that is used of it: Debian's archive cannot be part of a shared
/// library.
std::vector<Library> tflite_libraries() {
  return {{"FlatBuffers", std::to_string(FLATBUFFERS_VERSION_MAJOR) + "." +
                              std::to_string(FLATBUFFERS_VERSION_MINOR) + "." +
                              std::to_string(FLATBUFFERS_VERSION_REVISION)}};
}

}  // namespace tare
