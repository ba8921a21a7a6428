#include "pipeline/store/search_memory.h"

#include "calibrate/statistics/shares.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tare {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kInterval = std::chrono::seconds(10);  // what may be lost

}  // namespace

SearchMemory::SearchMemory(std::filesystem::path path, const SearchIdentity& identity,
                           Communicator* team)
    : path_(std::move(path)), next_(Clock::now() + kInterval) {
  if (std::filesystem::exists(path_)) {
    lock();
    try {
      known_ = read_search_checkpoint(path_, identity);
    } catch (...) {
      ::close(file_);
      throw;
    }
  }
  known_.identity = identity;
  (void)of_first(text_of(known_), team);
}

SearchMemory::SearchMemory(Communicator* team)
    : known_(search_checkpoint_of(of_first({}, team))), next_(Clock::time_point::max()) {}

SearchMemory::~SearchMemory() {
  if (file_ >= 0) {
    ::close(file_);
  }
}

std::size_t SearchMemory::trials() const {
  return static_cast<std::size_t>(
      std::count_if(known_.plans.begin(), known_.plans.end(),
                    [](const RecordedPlan& recorded) { return !recorded.report.empty(); }));
}

bool SearchMemory::is_resumable() const {
  return !path_.empty() && (!known_.sensitivities.empty() || !known_.plans.empty());
}

MeasuredSensitivities SearchMemory::measured(std::function<bool()> stop) {
  return {.known = known_.sensitivities,
          .more = [this, stop = std::move(stop)](const Sensitivities& errors) {
            const bool stops = stop();
            if (stops || Clock::now() >= next_) {
              known_.sensitivities = errors;
              save();
            }
            if (stops) {
              throw SearchStopped{};
            }
          }};
}

void SearchMemory::learn(Sensitivities errors) {
  known_.sensitivities = std::move(errors);
  save();
}

void SearchMemory::learn(const std::vector<MixedPrecisionPlan>& plans) {
  for (const MixedPrecisionPlan& plan : plans) {
    known_.plans.push_back({.plan = plan});
  }
  save();
}

void SearchMemory::learn(std::size_t plan, std::string report) {
  known_.plans[plan].report = std::move(report);
  save();
}

void SearchMemory::note_written(std::size_t plan,
                                const std::vector<std::filesystem::path>& files) {
  known_.written = plan;
  known_.files.clear();
  for (const std::filesystem::path& file : files) {
    known_.files.emplace(file.string(), file_digest(file).value_or(0));
  }
}

bool SearchMemory::has_written(std::size_t plan,
                               const std::vector<std::filesystem::path>& files) const {
  return known_.written == plan &&
         std::all_of(files.begin(), files.end(), [&](const std::filesystem::path& file) {
           const auto found = known_.files.find(file.string());
           return found != known_.files.end() && file_digest(file) == found->second;
         });
}

void SearchMemory::forget() {
  if (holds_file()) {
    ::unlink(path_.c_str());
  }
}

void SearchMemory::save() {
  if (path_.empty()) {
    return;
  }
  if (std::filesystem::exists(path_) && !holds_file()) {
    throw in_use();
  }
  write_search_checkpoint(path_, known_);
  lock();
  next_ = Clock::now() + kInterval;
}

void SearchMemory::lock() {
  const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    throw Error(ErrorCode::kIo, path_.string(),
                "cannot be read: " + std::generic_category().message(errno));
  }
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    ::close(file);
    throw in_use();
  }
  if (file_ >= 0) {
    ::close(file_);
  }
  file_ = file;
}

bool SearchMemory::holds_file() const {
  struct stat held {};
  struct stat named {};
  return file_ >= 0 && ::fstat(file_, &held) == 0 && ::stat(path_.c_str(), &named) == 0 &&
         held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

Error SearchMemory::in_use() const {
  return Error(ErrorCode::kIo, path_.string(), "is in use by another search")
      .hint("name another output, or wait for it");
}

}  // namespace tare
