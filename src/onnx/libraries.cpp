#include "onnx/libraries.h"

#include <string>

#include <google/protobuf/stubs/common.h>
#include <onnx/common/version.h>

namespace tare {

std::vector<Library> onnx_libraries() {
  return {
      {"ONNX", ONNX_NAMESPACE::LAST_RELEASE_VERSION},
      {"Protocol Buffers", google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION)}};
}

}  // namespace tare
