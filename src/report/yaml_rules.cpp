#include "report/yaml_rules.h"

#include "tare/error.h"

namespace tare {

std::string layer_rules(const std::vector<std::string>& names, const std::string& setting) {
  std::string lines = "layers:\n";
  for (const std::string& name : names) {
    lines += "  - {match: {name: " + yaml_scalar(name) + "}, " + setting + "}\n";
  }
  return lines;
}

}  // namespace tare
