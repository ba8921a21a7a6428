#include "tare/error.h"
#include "tare/pipeline.h"

#include "base/files.h"

#include <algorithm>

#include <dlfcn.h>

namespace tare {
namespace {

using EntryPoint = void (*)(CalibratorInfo*);
constexpr const char* kEntryPoint = "tare_plugin_1";

CalibratorInfo load(const std::filesystem::path& path) {
  const auto fault = [&](ErrorCode code, const std::string& what) {
    return Error(code, "plug-in '" + path.string() + "'", what);
  };
  require_readable(path);
  // A name without a slash would be looked for in system folders.
  void* const library = dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw fault(ErrorCode::kIo, std::string("cannot be loaded: ") + dlerror());
  }
  void* const entry = dlsym(library, kEntryPoint);
  if (entry == nullptr) {
    throw fault(ErrorCode::kInvalidConfig, "is no calibrator for this version")
        .expected(std::string("a function ") + kEntryPoint)
        .hint("compile it with TARE_PLUGIN defined and the headers of this version");
  }
  CalibratorInfo calibrator;
  reinterpret_cast<EntryPoint>(entry)(&calibrator);
  return calibrator;
}

}  // namespace

void load_plugins(const std::vector<std::filesystem::path>& paths, Toolkit& toolkit) {
  for (const std::filesystem::path& path : paths) {
    CalibratorInfo calibrator = load(path);
    const std::vector<std::string> taken = toolkit.calibrator_names();
    if (std::find(taken.begin(), taken.end(), calibrator.name) != taken.end()) {
      throw Error(ErrorCode::kInvalidConfig, "plug-in '" + path.string() + "'",
                  "calibrator '" + std::string(calibrator.name) + "' exists already");
    }
    toolkit.calibrators.push_back(std::move(calibrator));
  }
}

}  // namespace tare
