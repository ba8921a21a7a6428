// Finds the engine that is meant by a name: the scripts that come with the program, the
// executor, or a command.
#include "tare/error.h"

#include "engine/engine.h"

#include <array>
#include <cstdlib>
#include <fstream>

namespace tare {
namespace {

struct Script {
  const char* name;
  const char* interpreter;
  const char* file;
};

constexpr std::array kScripts{
    Script{"onnxruntime", "python3", "onnxruntime_engine.py"},
    Script{"onnxruntime-node", "node", "onnxruntime_node_engine.cjs"},
};

/// Beside the program, or in share/ of where it is installed.
std::filesystem::path find_script(const Script& script) {
  const std::string file = script.file;
  std::error_code unknown;
  const std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path();
  for (const auto& folder : {program, program / ".." / "share" / "tare" / "engines"}) {
    if (std::filesystem::exists(folder / file, unknown)) {
      return (folder / file).lexically_normal();
    }
  }
  throw Error(ErrorCode::kUnsupported, "engine",
              "there is no '" + file + "' beside the program, nor in share/tare/engines")
      .hint(std::string("name the command that runs it: '") + script.interpreter + " FOLDER/" +
            file + "'");
}

}  // namespace

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string name;
  std::string family;
  std::string model;
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const std::size_t colon = line.find(':');
    const std::string key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    const std::string value =
        colon != std::string::npos && colon + 2 <= line.size() ? line.substr(colon + 2) : "";
    (key == "model name"   ? name
     : key == "cpu family" ? family
     : key == "model"      ? model
                           : line) = value;
  }
  name = name.empty() ? "unknown" : name;
  return family.empty() ? name : name + " (" + family + "/" + model + ")";
}

std::unique_ptr<Engine> open_engine(const EngineOptions& options) {
  if (options.engine == "tare") {
    return open_own_engine();
  }
  for (const Script& script : kScripts) {
    if (options.engine == script.name) {
      const std::string command =
          std::string("exec ") + script.interpreter + " '" + find_script(script).string() + "'";
      return open_protocol_engine(script.name, command, options);
    }
  }
  if (options.engine.find("{model}") != std::string::npos) {
    return open_command_engine(options);
  }
  return open_protocol_engine(options.engine, options.engine, options);
}

}  // namespace tare
