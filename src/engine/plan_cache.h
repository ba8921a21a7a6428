#pragma once

#include "tare/execute.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace tare {

/// What measuring has added to a configuration.
struct MeasuredPlan {
  std::map<std::string, bool> keep_float;  ///< by node; false: on integers
  std::optional<double> slowdown;          ///< instead of the configured one
  std::optional<bool> fuse_silu;           ///< likewise
  std::set<std::string> kept_float;        ///< see MeasuredQuantization

  friend bool operator==(const MeasuredPlan&, const MeasuredPlan&) = default;
};

/// Plans that were measured in one engine, from one call of the program to the next: a file for
/// each. A cache that cannot be read or written is none.
class PlanCache {
 public:
  /// In `folder`, or where that is empty in the usual one (cache_files.h). `quantization` is a
  /// digest of all that decides what a plan should be, except the engine.
  PlanCache(const EngineFacts&, std::uint64_t quantization, std::filesystem::path folder);

  std::optional<MeasuredPlan> find() const;
  void keep(const MeasuredPlan&) const;

 private:
  std::string identity_;
  std::filesystem::path file_;
};

}  // namespace tare
