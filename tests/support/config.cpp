#include "support/config.h"

#include "tare/quantize.h"

namespace tare::test {

Config config_with(const std::vector<std::string>& settings) {
  return read_config({}, settings, Toolkit::builtin().calibrator_names());
}

}  // namespace tare::test
