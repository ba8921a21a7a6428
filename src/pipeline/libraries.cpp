
#include "base/libraries.h"

#include "execute/libraries.h"
#include "io/libraries.h"
#include "onnx/libraries.h"
#include "tflite/libraries.h"

#include <algorithm>
#include <iterator>

#include <strings.h>

namespace tare {

std::vector<Library> libraries() {
  std::vector<Library> all;
  for (const auto& of_stage :
       {base_libraries, io_libraries, onnx_libraries, tflite_libraries, execute_libraries}) {
    std::ranges::move(of_stage(), std::back_inserter(all));
  }
  std::ranges::sort(all, [](const Library& a, const Library& b) {
    return strcasecmp(a.name.c_str(), b.name.c_str()) < 0;
  });
  return all;
}

}  // namespace tare
