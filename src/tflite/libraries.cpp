#include "tflite/libraries.h"

#include <flatbuffers/base.h>

namespace tare {

std::vector<Library> tflite_libraries() {
  return {{"FlatBuffers", flatbuffers::FLATBUFFERS_VERSION()}};
}

}  // namespace tare
