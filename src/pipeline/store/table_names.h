#pragma once

#include "tare/quant_table.h"

#include <string>
#include <utility>
#include <vector>

namespace tare {

// How table files spell what has a name of its own in the program.

inline const std::vector<std::pair<std::string, Role>>& role_names() {
  static const std::vector<std::pair<std::string, Role>> names{
      {"activation", Role::kActivation},
      {"weight", Role::kWeight},
      {"accumulator", Role::kAccumulator}};
  return names;
}

inline const std::vector<std::pair<std::string, DType>>& storage_names() {
  static const std::vector<std::pair<std::string, DType>> names{{"int8", DType::kInt8},
                                                                {"uint8", DType::kUint8},
                                                                {"int16", DType::kInt16},
                                                                {"uint16", DType::kUint16}};
  return names;
}

template <class T>
std::string name_in(const std::vector<std::pair<std::string, T>>& names, T value) {
  for (const auto& [name, meaning] : names) {
    if (meaning == value) {
      return name;
    }
  }
  return {};
}

}  // namespace tare
