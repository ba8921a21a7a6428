#include "engine/tuning_cache.h"

#include "tare/error.h"
#include "tare/process.h"

#include "base/hash.h"
#include "base/input_file.h"
#include "engine/cache_files.h"

#include <system_error>

#include <nlohmann/json.hpp>

namespace tare {
namespace {

bool is_time(const nlohmann::json& value) {
  return value.is_number() && value.get<double>() > 0;
}

}  // namespace

TuningCache::TuningCache(const EngineFacts& engine, std::filesystem::path folder)
    : engine_(engine) {
  folder = cache_folder(std::move(folder));
  if (!folder.empty()) {
    file_ = folder / ("times-" + hexadecimal(hash(identity(engine))) + ".json");
    read();
  }
}

void TuningCache::read() {
  std::error_code missing;
  if (!std::filesystem::is_regular_file(file_, missing)) {
    return;
  }
  try {
    const auto json = nlohmann::json::parse(InputFile(file_).contents(), nullptr, false);
    if (!json.is_object() || json.value("identity", "") != identity(engine_) ||
        !json.contains("segments") || !json["segments"].is_object()) {
      return;
    }
    for (const auto& [segment, times] : json["segments"].items()) {
      if (times.is_array() && times.size() == 2 && is_time(times[0]) && is_time(times[1])) {
        times_.emplace(segment, SegmentTime{times[0], times[1]});
      }
    }
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): then there is no cache
  } catch (const nlohmann::json::exception&) {  // NOLINT(bugprone-empty-catch)
  }
}

std::optional<SegmentTime> TuningCache::find(const std::string& segment) const {
  const auto found = times_.find(segment);
  return found == times_.end() ? std::nullopt : std::optional(found->second);
}

void TuningCache::save() {
  if (file_.empty()) {
    return;
  }
  read();
  nlohmann::json segments = nlohmann::json::object();
  for (const auto& [segment, time] : times_) {
    segments[segment] = {time.floats, time.integers};
  }
  try {
    write_text(file_,
               nlohmann::json{{"identity", identity(engine_)}, {"segments", segments}}.dump(
                   1, ' ', false, nlohmann::json::error_handler_t::replace) +
                   "\n");
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the next call measures again
  }
}

}  // namespace tare
