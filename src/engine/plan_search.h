#pragma once

#include "engine/plan_files.h"
#include "engine/timing.h"

#include <chrono>
#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace tare {

struct FoundPlan {
  std::set<std::string> integers;  ///< regions; none where nothing is faster than float
  std::size_t timed = 0;           ///< files
};

/// The fastest plan that is found in the time there is, beginning with the best of `starts`:
/// regions and islands go back to float one after another where that is measured to be faster.
/// At least the starts are timed, and what was found against the float model.
FoundPlan search_plan(Engine&, PlanFiles&, LoadedModel real,
                      const std::vector<std::set<std::string>>& starts,
                      std::chrono::steady_clock::time_point deadline,
                      const std::function<void()>& progress);

}  // namespace tare
