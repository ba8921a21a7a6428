#pragma once

#include "tare/config.h"
#include "tare/dataset.h"
#include "tare/node.h"
#include "tare/quant_table.h"

#include "search/sensitivities.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tare {

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
struct RecordedPlan {
  MixedPrecisionPlan plan;
  std::string report{};  ///< report_json() of the network that it gives; empty: not tried yet

  friend bool operator==(const RecordedPlan&, const RecordedPlan&) = default;
};

/// The state of a search, from which it resumes as if nothing had happened.
struct SearchCheckpoint {
  SearchIdentity identity;
  Sensitivities sensitivities;                 ///< those that have been measured
  std::vector<RecordedPlan> plans;             ///< empty until all errors have been
  std::optional<std::size_t> written;          ///< the plan whose files were written last
  std::map<std::string, std::uint64_t> files;  ///< these, by path, with file_digest()

  friend bool operator==(const SearchCheckpoint&, const SearchCheckpoint&) = default;
};

/// Of the bytes; nothing when there is no such file.
std::optional<std::uint64_t> file_digest(const std::filesystem::path&);

/// As text, and of such a text: for another process.
std::string text_of(const SearchCheckpoint&);
SearchCheckpoint search_checkpoint_of(std::string_view text);

/// The file changes at once or not at all. Throws Error(kIo).
void write_search_checkpoint(const std::filesystem::path&, const SearchCheckpoint&);
/// Throws Error(kIo), Error(kInvalidData) when any byte of the file is not as it was written,
/// or when it is of a search with another identity.
SearchCheckpoint read_search_checkpoint(const std::filesystem::path&, const SearchIdentity&);

}  // namespace tare
