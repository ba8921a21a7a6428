#pragma once

#include "tare/graph.h"

#include <string>
#include <string_view>

namespace tare::cli {

/// What the user calls the layer whose products a node of an integer graph adds up, of one made
/// from a file of ours too.
inline std::string layer_name(const Node& sums) {
  constexpr std::string_view kSuffix = "_accumulated";
  std::string name = sums.name;
  while (name.ends_with(kSuffix)) {
    name.resize(name.size() - kSuffix.size());
  }
  return name;
}

}  // namespace tare::cli
