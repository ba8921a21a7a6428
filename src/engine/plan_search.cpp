// Goes on from the best of some plans, one of which is to have nothing on integers. What a
// change of one region does depends on its neighbours: a convolution in float saves time, the
// conversions around it cost some, and what an engine fuses nobody can say in advance. So each
// change is made to the whole network and timed beside the plan that it changes, several at
// once.
#include "engine/plan_search.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

namespace tare {
namespace {

using Clock = std::chrono::steady_clock;
using Plan = std::set<std::string>;

/// Files that are timed together. Each costs memory, and a disturbance hits all of them.
constexpr std::size_t kTogether = 6;
/// Enough to see a difference of some percent; what is chosen is measured again.
MeasureOptions trial() {
  return {.seconds = 1.5, .precision = 0.005, .progress = {}};
}
/// What a change must save for sure.
constexpr double kLeastGain = 1.005;

class PlanSearch {
 public:
  PlanSearch(Engine& engine, PlanFiles& files, Clock::time_point deadline,
             const std::function<void()>& progress)
      : engine_(engine), files_(files), deadline_(deadline), progress_(progress) {}

  FoundPlan run(LoadedModel real, const std::vector<Plan>& starts) {
    if (!start(starts)) {
      return {{}, timed_};
    }
    while (Clock::now() < deadline_ && descend()) {
    }
    const std::array both{real, best_.model};
    const bool is_faster = time_in_turn(engine_, both, trial()).ratio(0, 1).value > 1;
    files_.unload(best_);
    return {is_faster ? best_.integers : Plan(), timed_};
  }

 private:
  /// The fastest of these is the best plan so far, even if float is faster: what makes it slow
  /// may be one layer. False where the engine takes none of them.
  bool start(const std::vector<Plan>& starts) {
    std::vector<PlanFile> loaded = load(starts);
    if (loaded.empty()) {
      return false;
    }
    std::vector<LoadedModel> models;
    for (const PlanFile& file : loaded) {
      models.push_back(file.model);
    }
    const Timing timing = time_in_turn(engine_, models, trial());
    std::size_t fastest = 0;
    for (std::size_t i = 1; i < loaded.size(); ++i) {
      fastest = timing.ratio(fastest, i).value > 1 ? i : fastest;
    }
    for (std::size_t i = 0; i < loaded.size(); ++i) {
      if (i != fastest) {
        files_.unload(loaded[i]);
      }
    }
    best_ = std::move(loaded[fastest]);
    return true;
  }

  /// Files of those that were not tried before, and that the engine takes.
  std::vector<PlanFile> load(const std::vector<Plan>& plans) {
    std::vector<PlanFile> loaded;
    for (const Plan& plan : plans) {
      if (!tried_.insert(plan).second) {
        continue;
      }
      if (auto file = files_.load(plan)) {
        loaded.push_back(*std::move(file));
      }
      if (progress_) {
        progress_();
      }
    }
    timed_ += loaded.size();
    return loaded;
  }

  /// Whether one of the changes helped.
  bool descend() {
    std::vector<Plan> changes;
    const auto change_to = [&](Plan plan) {
      if (!tried_.contains(plan)) {
        changes.push_back(std::move(plan));
      }
    };
    const auto without = [&](const Plan& less) {
      Plan plan;
      std::set_difference(best_.integers.begin(), best_.integers.end(), less.begin(),
                          less.end(), std::inserter(plan, plan.end()));
      change_to(std::move(plan));
    };
    for (const Plan& island : best_.islands) {
      without(island);
    }
    for (const Plan& island : best_.float_islands) {
      Plan plan = best_.integers;
      plan.insert(island.begin(), island.end());
      change_to(std::move(plan));
    }
    for (const std::string& region : best_.border) {
      without({region});
    }
    for (const std::string& region : best_.integers) {
      without({region});
    }
    return try_all(changes);
  }

  /// Until some help, or the time is up.
  bool try_all(const std::vector<Plan>& plans) {
    for (std::size_t first = 0; first < plans.size() && Clock::now() < deadline_;
         first += kTogether) {
      const std::size_t last = std::min(first + kTogether, plans.size());
      if (try_some({plans.begin() + static_cast<std::ptrdiff_t>(first),
                    plans.begin() + static_cast<std::ptrdiff_t>(last)})) {
        return true;
      }
    }
    return false;
  }

  /// Of changes that help alone most help together.
  bool try_some(const std::vector<Plan>& plans) {
    const Plan before = best_.integers;
    const std::vector<Plan> helped = time_some(plans);
    if (helped.size() > 1) {
      Plan together = before;
      for (const Plan& plan : helped) {
        for (const std::string& region : plan) {
          if (!before.contains(region)) {
            together.insert(region);
          }
        }
        for (const std::string& region : before) {
          if (!plan.contains(region)) {
            together.erase(region);
          }
        }
      }
      time_some({together});
    }
    return !helped.empty();
  }

  /// Those that are faster than the best one before, of which the fastest becomes the best.
  std::vector<Plan> time_some(const std::vector<Plan>& plans) {
    std::vector<PlanFile> loaded = load(plans);
    std::vector<LoadedModel> models{best_.model};
    for (const PlanFile& file : loaded) {
      models.push_back(file.model);
    }
    std::vector<Plan> faster;
    if (loaded.empty()) {
      return faster;
    }
    const Timing timing = time_in_turn(engine_, models, trial());
    std::optional<std::size_t> fastest;
    double gain = 1;
    for (std::size_t i = 0; i < loaded.size(); ++i) {
      const ConfidenceInterval ratio = timing.ratio(0, i + 1);
      if (ratio.low < kLeastGain) {
        continue;
      }
      faster.push_back(loaded[i].integers);
      if (ratio.value > gain) {
        fastest = i;
        gain = ratio.value;
      }
    }
    for (std::size_t i = 0; i < loaded.size(); ++i) {
      if (fastest != i) {
        files_.unload(loaded[i]);
      }
    }
    if (fastest) {
      files_.unload(best_);
      best_ = std::move(loaded[*fastest]);
    }
    return faster;
  }

  Engine& engine_;
  PlanFiles& files_;
  Clock::time_point deadline_;
  const std::function<void()>& progress_;
  PlanFile best_;
  std::set<Plan> tried_;
  std::size_t timed_ = 0;
};

}  // namespace

FoundPlan search_plan(Engine& engine, PlanFiles& files, LoadedModel real,
                      const std::vector<std::set<std::string>>& starts,
                      std::chrono::steady_clock::time_point deadline,
                      const std::function<void()>& progress) {
  return PlanSearch(engine, files, deadline, progress).run(real, starts);
}

}  // namespace tare
