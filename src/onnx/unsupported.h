#pragma once

#include "tare/error.h"

#include <algorithm>
#include <string>
#include <vector>

namespace tare {

/// What is not supported, each thing once with the number of nodes it was met at.
class Unsupported {
 public:
  void add(const std::string& what, const std::string& node) {
    const auto same = std::find_if(met_.begin(), met_.end(),
                                   [&](const Met& met) { return met.what == what; });
    if (same == met_.end()) {
      met_.push_back({what, node, 1});
    } else {
      ++same->nodes;
    }
  }

  void report(Faults& faults) const {
    for (const Met& met : met_) {
      const std::string first = "'" + met.first_node + "'";
      faults.add("", met.what + (met.nodes == 1 ? " (node " + first + ")"
                                                : " (" + std::to_string(met.nodes) +
                                                      " nodes, first " + first + ")"));
    }
  }

 private:
  struct Met {
    std::string what;
    std::string first_node;
    int nodes = 0;
  };
  std::vector<Met> met_;
};

}  // namespace tare
