#pragma once

#include "tare/error.h"
#include "tare/statistics.h"

#include "pipeline/store/search_checkpoint.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tare {

/// Thrown on the way out of the work of a search that is to stop.
struct SearchStopped {};

/// What is known of a search, in a file from which the same search goes on, unless the path is
/// empty. The file is locked, so that one search at a time uses it.
class SearchMemory {
 public:
  /// Begins anew where there is no such file. Throws as read_search_checkpoint() does, and
  /// Error(kIo) when another search uses the file.
  SearchMemory(std::filesystem::path, const SearchIdentity&, Communicator* team = nullptr);
  /// What the first process of `team` knows. Keeps nothing in a file.
  explicit SearchMemory(Communicator* team);
  ~SearchMemory();
  SearchMemory(const SearchMemory&) = delete;
  SearchMemory& operator=(const SearchMemory&) = delete;

  const SearchCheckpoint& known() const { return known_; }
  /// Plans that were tried, now or earlier.
  std::size_t trials() const;
  /// Whether the file holds anything to go on from.
  bool is_resumable() const;

  // These throw Error(kIo) when another search has used the file meanwhile.

  /// To be measured with: keeps errors every ten seconds and when `stop` says true, which
  /// throws SearchStopped.
  MeasuredSensitivities measured(std::function<bool()> stop);
  void learn(Sensitivities);
  void learn(const std::vector<MixedPrecisionPlan>& plans);
  void learn(std::size_t plan, std::string report);
  /// These hold what comes of that plan; kept with what is learned next.
  void note_written(std::size_t plan, const std::vector<std::filesystem::path>& files);
  /// Whether these files are as that plan left them.
  bool has_written(std::size_t plan, const std::vector<std::filesystem::path>& files) const;
  void forget();

 private:
  void save();
  void lock();
  bool holds_file() const;
  Error in_use() const;

  std::filesystem::path path_;
  SearchCheckpoint known_;
  int file_ = -1;  ///< the checkpoint, locked; -1 before there is one of ours
  std::chrono::steady_clock::time_point next_;  ///< when errors are kept again
};

}  // namespace tare
