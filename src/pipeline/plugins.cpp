#include "tare/error.h"
#include "tare/quantize.h"

#include "base/files.h"

#include <algorithm>

#include <dlfcn.h>

namespace tare {
namespace {

constexpr const char* kCalibrator = "tare_plugin_1";
constexpr const char* kMetric = "tare_metric_1";

Error fault(const std::filesystem::path& path, ErrorCode code, const std::string& what) {
  return {code, "plug-in '" + path.string() + "'", what};
}

void* load(const std::filesystem::path& path) {
  require_readable(path);
  // A name without a slash would be looked for in system folders.
  void* const library = dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw fault(path, ErrorCode::kIo, std::string("cannot be loaded: ") + dlerror());
  }
  return library;
}

/// Adds what the entry point of that name gives. False when there is none.
template <class Info>
bool add(void* library, const char* entry_point, const char* kind,
         const std::filesystem::path& path, std::vector<Info>& known) {
  void* const entry = dlsym(library, entry_point);
  if (entry == nullptr) {
    return false;
  }
  Info info;
  reinterpret_cast<void (*)(Info*)>(entry)(&info);
  if (std::any_of(known.begin(), known.end(),
                  [&](const Info& other) { return other.name == info.name; })) {
    std::string what = kind;
    what += " '";
    what += info.name;
    throw fault(path, ErrorCode::kInvalidConfig, what + "' exists already");
  }
  known.push_back(std::move(info));
  return true;
}

}  // namespace

void load_plugins(const std::vector<std::filesystem::path>& paths, Toolkit& toolkit) {
  for (const std::filesystem::path& path : paths) {
    void* const library = load(path);
    const bool calibrates = add(library, kCalibrator, "calibrator", path, toolkit.calibrators);
    const bool measures = add(library, kMetric, "metric", path, toolkit.metrics);
    if (!calibrates && !measures) {
      throw fault(path, ErrorCode::kInvalidConfig,
                  "is no calibrator or metric for this version")
          .expected(std::string("a function ") + kCalibrator + " or " + kMetric)
          .hint("compile it with TARE_PLUGIN defined and the headers of this version");
    }
  }
}

}  // namespace tare
