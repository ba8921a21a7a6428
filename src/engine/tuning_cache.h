#pragma once

#include "tare/execute.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace tare {

/// What a segment took, conversions of its operands and result included.
struct SegmentTime {
  double floats = 0;  ///< nanoseconds
  double integers = 0;
};

/// Times of segments in one engine, of one version on one processor with so many threads, from
/// one call of the program to the next. A cache that cannot be read or written is none.
class TuningCache {
 public:
  /// In `folder`, or where that is empty in the usual one (cache_files.h).
  TuningCache(const EngineFacts&, std::filesystem::path folder);

  std::optional<SegmentTime> find(const std::string& segment) const;
  void add(const std::string& segment, const SegmentTime& time) { times_[segment] = time; }
  /// Whole or not at all, with what others have added meanwhile.
  void save();

 private:
  void read();

  std::filesystem::path file_;
  EngineFacts engine_;
  std::map<std::string, SegmentTime> times_;
};

}  // namespace tare
