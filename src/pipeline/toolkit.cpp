
#include "tare/toolkit.h"

#include "tare/calibrator.h"
#include "tare/error.h"
#include "tare/report.h"

#include "prepare/rule_registry.h"

#include <algorithm>
#include <set>

#define TARE_X(stem) TARE_PATTERN(stem);
#include "pattern_list.inc"
#undef TARE_X
#define TARE_X(stem) TARE_CALIBRATOR(stem);
#include "calibrator_list.inc"
#undef TARE_X
#define TARE_X(stem) TARE_METRIC(stem);
#include "metric_list.inc"
#undef TARE_X

namespace tare {

const Toolkit& Toolkit::builtin() {
  static const Toolkit toolkit{
      .rules = prepare_rules(),
      .patterns =
          {
#define TARE_X(stem) tare_pattern_##stem(),
#include "pattern_list.inc"
#undef TARE_X
          },
      .calibrators =
          {
#define TARE_X(stem) tare_calibrator_##stem(),
#include "calibrator_list.inc"
#undef TARE_X
          },
      .metrics =
          {
#define TARE_X(stem) tare_metric_##stem(),
#include "metric_list.inc"
#undef TARE_X
          },
      .affine_ops = {tare::affine_ops().begin(), tare::affine_ops().end()},
  };
  return toolkit;
}

namespace {

/// The patterns about which built-in targets have something to say. Others speak for
/// themselves.
const std::set<std::string>& listed_patterns() {
  static const std::set<std::string> listed = [] {
    std::set<std::string> names;
    for (const std::string& target : target_names()) {
      const std::vector<std::string> patterns = read_target(target).patterns;
      names.insert(patterns.begin(), patterns.end());
    }
    return names;
  }();
  return listed;
}

bool names_target(const QuantPattern& pattern, const Target& target) {
  const auto is_it = [&](const std::string& name) {
    return name == target.name || name == target.extends;
  };
  return pattern.targets.empty() ||
         std::any_of(pattern.targets.begin(), pattern.targets.end(), is_it);
}

/// A built-in target may list patterns that a toolkit leaves out; who writes a file has them.
void check_patterns(const Config& config, const Target& target, const Toolkit& toolkit) {
  std::vector<std::string> known;
  for (const QuantPattern& pattern : toolkit.patterns) {
    known.emplace_back(pattern.name);
  }
  Faults faults;
  for (const std::string& name : target.patterns) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      faults.add(config.target, "unknown pattern '" + name + "'",
                 "a built-in one, or one of a plug-in", suggestion(name, known));
    }
  }
  faults.raise(ErrorCode::kInvalidConfig);
}

}  // namespace

Target target_of(const Config& config, const Toolkit& toolkit) {
  Target target = read_target(config.target, processor_of(config));
  if (is_target_file(config.target)) {
    check_patterns(config, target, toolkit);
  }
  for (const QuantPattern& pattern : toolkit.patterns) {
    std::string name(pattern.name);
    if (!listed_patterns().contains(name) && names_target(pattern, target) &&
        std::find(target.patterns.begin(), target.patterns.end(), name) ==
            target.patterns.end()) {
      target.patterns.push_back(std::move(name));
    }
  }
  target.objective = config.objective.value_or(target.objective);
  target.fuse_silu = config.fuse_silu.value_or(target.fuse_silu);
  target.packs_weights = config.packs_weights.value_or(target.packs_weights);
  target.packs_blocks = config.packs_weights.value_or(target.packs_blocks);
  target.block_accuracy_level =
      config.block_accuracy_level.value_or(target.block_accuracy_level);
  return target;
}

std::vector<std::string> Toolkit::calibrator_names() const {
  std::vector<std::string> names;
  for (const CalibratorInfo& info : calibrators) {
    names.emplace_back(info.name);
  }
  return names;
}

}  // namespace tare
