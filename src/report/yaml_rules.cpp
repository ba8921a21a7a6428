#include "report/yaml_rules.h"

namespace tare {
namespace {

/// A double-quoted scalar.
std::string quoted(const std::string& text) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7F) {
      result += {'\\', 'x', kDigits[byte >> 4U], kDigits[byte & 15U]};
    } else {
      result += c;
    }
  }
  return result + '"';
}

}  // namespace

std::string layer_rules(const std::vector<std::string>& names, const std::string& setting) {
  std::string lines = "layers:\n";
  for (const std::string& name : names) {
    lines += "  - {match: {name: " + quoted(name) + "}, " + setting + "}\n";
  }
  return lines;
}

}  // namespace tare
