#pragma once

#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/graph.h"
#include "tare/statistics.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace tare {

struct Toolkit;

/// A mixed-precision plan: which nodes of a network stay in float.
struct MixedPrecisionPlan {
  std::set<std::string> float_nodes;  ///< that would run on integers if time alone counted
  double nanoseconds = 0;             ///< as in Assignment
  double error = 0;                   ///< the sum of those of the points that are quantized
  double integer_share = 0;           ///< of the multiplications

  friend bool operator==(const MixedPrecisionPlan&, const MixedPrecisionPlan&) = default;
};

/// By name of the point.
using Sensitivities = std::map<std::string, double>;

/// Sensitivities that an earlier search measured, and who is told of more.
struct MeasuredSensitivities {
  Sensitivities known{};
  /// Called with all that are known each time that there are more; may be empty. What it throws
  /// ends the work.
  std::function<void(const Sensitivities&)> more{};
};

/// The Pareto front of mixed-precision plans, from the fastest to the float network, see
/// pareto_plans(). Calibrates in one pass, and measures sensitivities on some samples. The
/// configured slowdown has no effect.
std::vector<MixedPrecisionPlan> mixed_precision_plans(const Graph& model, const Dataset&,
                                                      const Config&, const Toolkit&,
                                                      const CalibrateOptions& = {},
                                                      const MeasuredSensitivities& = {});
/// The configuration with which quantize() applies the plan.
Config apply_plan(Config, const MixedPrecisionPlan&);

/// Digests of all that the course of a search depends on.
struct SearchIdentity {
  std::uint64_t model = 0;
  std::uint64_t data = 0;           ///< samples in their order, and labels
  std::uint64_t configuration = 0;  ///< with plug-ins and the version of this library

  friend bool operator==(const SearchIdentity&, const SearchIdentity&) = default;
};

/// Of a search on the first config.samples samples. Reads all of these. Throws Error(kIo) when
/// a plug-in cannot be read, and what reading the data throws.
SearchIdentity search_identity(const Graph& model, const Dataset&, const Config&,
                               std::span<const std::filesystem::path> plugins);

/// One plan, and its report.
struct SearchedPlan {
  MixedPrecisionPlan plan;
  std::string report{};  ///< report_json() of the network that it gives; empty: not tried yet

  friend bool operator==(const SearchedPlan&, const SearchedPlan&) = default;
};

/// The state of a search, from which it resumes as if nothing had happened.
struct SearchCheckpoint {
  SearchIdentity identity;
  std::map<std::string, double> sensitivities;  ///< those that have been measured
  std::vector<SearchedPlan> plans;              ///< empty until all errors have been
  std::optional<std::size_t> written;           ///< the plan whose files were written last
  std::map<std::string, std::uint64_t> files;   ///< these, by path, with file_digest()

  friend bool operator==(const SearchCheckpoint&, const SearchCheckpoint&) = default;
};

/// Of the bytes; nothing when there is no such file.
std::optional<std::uint64_t> file_digest(const std::filesystem::path&);

/// The file changes at once or not at all. Throws Error(kIo).
void write_search_checkpoint(const std::filesystem::path&, const SearchCheckpoint&);
/// Throws Error(kIo), Error(kInvalidData) when any byte of the file is not as it was written,
/// or when it is of a search with another identity.
SearchCheckpoint read_search_checkpoint(const std::filesystem::path&, const SearchIdentity&);

}  // namespace tare
