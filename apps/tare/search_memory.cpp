#include "search_memory.h"

#include "interrupt.h"

#include <algorithm>

namespace tare::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kInterval = std::chrono::seconds(10);

}  // namespace

SearchMemory::SearchMemory(std::filesystem::path path, const SearchIdentity& identity)
    : path_(std::move(path)), next_(Clock::now() + kInterval) {
  if (std::filesystem::exists(path_)) {
    known_ = read_search_checkpoint(path_, identity);
  }
  known_.identity = identity;
}

MeasuredErrors SearchMemory::measured() {
  return {.known = known_.point_errors, .more = [this](const PointErrors& errors) {
            if (Interrupt::requested() || Clock::now() >= next_) {
              known_.point_errors = errors;
              save();
            }
            Interrupt::check();
          }};
}

void SearchMemory::learn(const std::vector<Tradeoff>& ways) {
  for (const Tradeoff& way : ways) {
    known_.ways.push_back({.way = way});
  }
  save();
}

void SearchMemory::learn(std::size_t way, std::string report) {
  known_.ways[way].report = std::move(report);
  save();
}

void SearchMemory::note_written(std::size_t way,
                                const std::vector<std::filesystem::path>& files) {
  known_.written = way;
  known_.files.clear();
  for (const std::filesystem::path& file : files) {
    known_.files.emplace(file.string(), file_digest(file).value_or(0));
  }
}

bool SearchMemory::has_written(std::size_t way,
                               const std::vector<std::filesystem::path>& files) const {
  return known_.written == way &&
         std::all_of(files.begin(), files.end(), [&](const std::filesystem::path& file) {
           const auto found = known_.files.find(file.string());
           return found != known_.files.end() && file_digest(file) == found->second;
         });
}

void SearchMemory::save() {
  write_search_checkpoint(path_, known_);
  next_ = Clock::now() + kInterval;
}

}  // namespace tare::cli
