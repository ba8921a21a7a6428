#include "engine/plan_cache.h"

#include "tare/error.h"
#include "tare/process.h"

#include "base/hash.h"
#include "base/input_file.h"
#include "engine/cache_files.h"

#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

namespace tare {
namespace {

using Json = nlohmann::json;

/// Throws Json::exception where something is of another type.
MeasuredPlan plan_of(const Json& json) {
  MeasuredPlan plan;
  plan.keep_float = json.at("keep_float").get<std::map<std::string, bool>>();
  if (const Json& slowdown = json.at("slowdown"); !slowdown.is_null()) {
    plan.slowdown = slowdown.get<double>();
  }
  if (const Json& fuse = json.at("fuse_silu"); !fuse.is_null()) {
    plan.fuse_silu = fuse.get<bool>();
  }
  plan.kept_float = json.at("kept_float").get<std::set<std::string>>();
  return plan;
}

}  // namespace

PlanCache::PlanCache(const EngineFacts& engine, std::uint64_t quantization,
                     std::filesystem::path folder)
    : identity_(identity(engine) + "\n" + hexadecimal(quantization)) {
  folder = cache_folder(std::move(folder));
  if (!folder.empty()) {
    file_ = folder / ("plan-" + hexadecimal(hash(identity_)) + ".json");
  }
}

std::optional<MeasuredPlan> PlanCache::find() const {
  std::error_code missing;
  if (!std::filesystem::is_regular_file(file_, missing)) {
    return std::nullopt;
  }
  try {
    const Json json = Json::parse(InputFile(file_).contents());
    if (json.at("identity").get<std::string>() == identity_) {
      return plan_of(json);
    }
  } catch (const Error&) {            // NOLINT(bugprone-empty-catch): then there is no plan
  } catch (const Json::exception&) {  // NOLINT(bugprone-empty-catch)
  }
  return std::nullopt;
}

void PlanCache::keep(const MeasuredPlan& plan) const {
  if (file_.empty()) {
    return;
  }
  const Json json{{"identity", identity_},
                  {"keep_float", plan.keep_float},
                  {"slowdown", plan.slowdown ? Json(*plan.slowdown) : Json()},
                  {"fuse_silu", plan.fuse_silu ? Json(*plan.fuse_silu) : Json()},
                  {"kept_float", plan.kept_float}};
  try {
    write_text(file_, json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the next call measures again
  }
}

}  // namespace tare
