#include "base/version.h"

namespace tare {

std::string version() {
  return TARE_VERSION;
}

}  // namespace tare
