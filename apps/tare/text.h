#pragma once

#include "tare/error.h"

#include <cstdint>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace tare::cli {

/// Objects keep the order in which their members were added.
using Json = nlohmann::ordered_json;

/// Names from files need not be valid UTF-8.
inline std::string to_text(const Json& json) {
  return json_escaped(json.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}

/// "317.6 KiB"
inline std::string bytes_text(std::uintmax_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value, unit == 0 ? 0 : 1, kUnits[unit]);
}

/// "1 sample", "2 samples"
inline std::string counted(std::size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace tare::cli
