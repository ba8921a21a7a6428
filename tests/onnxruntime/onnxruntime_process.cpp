#include "onnxruntime_process.h"

#include "tare/tensor.h"

#include "support/files/files.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace tare::test {
namespace {

std::string in_quotes(const std::filesystem::path& path) {
  return "'" + path.string() + "'";
}

struct Printed {
  std::string text;  ///< to standard output
  bool is_whole = false;
};

Printed run_command(const std::string& command) {
  const auto close = [](std::FILE* pipe) { return pclose(pipe); };
  std::unique_ptr<std::FILE, decltype(close)> pipe(popen(command.c_str(), "r"), close);
  std::string output;
  std::array<char, 4096> buffer{};
  while (pipe != nullptr) {
    const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe.get());
    if (count == 0) {
      break;
    }
    output.append(buffer.data(), count);
  }
  const bool ends_well = pipe != nullptr && pclose(pipe.release()) == 0;
  return {std::move(output), ends_well};
}

/// Standard output of a command; throws when it fails.
std::string output_of(const std::string& command) {
  Printed printed = run_command(command);
  if (!printed.is_whole) {
    throw std::runtime_error("failed: " + command + "\n" + printed.text);
  }
  return std::move(printed.text);
}

nlohmann::json output_of_process(const std::string& arguments) {
  return nlohmann::json::parse(output_of(std::string(TARE_NODE) + " " + TARE_ONNXRUNTIME_DIR +
                                         "/onnxruntime.mjs " + arguments));
}

template <class T>
std::vector<float> read_as_float(const std::filesystem::path& file) {
  const std::string bytes = bytes_of(file);
  const auto* values = reinterpret_cast<const T*>(bytes.data());
  return {values, values + bytes.size() / sizeof(T)};
}

}  // namespace

std::optional<OnnxRuntimeProcess> OnnxRuntimeProcess::find(std::string& why) {
  if (std::string(TARE_NODE).ends_with("NOTFOUND") ||
      std::string(TARE_NPM).ends_with("NOTFOUND")) {
    why = "Node.js and npm are not installed";
    return std::nullopt;
  }
  const std::filesystem::path folder = TARE_ONNXRUNTIME_DIR;
  const std::string install = in_quotes(TARE_SOURCE_DIR "/tests/install_npm_packages.sh") +
                              " " TARE_NPM " " + in_quotes(folder);
  if (std::system(install.c_str()) != 0) {
    why = "npm could not install onnxruntime-node (see npm.log in " + folder.string() + ")";
    return std::nullopt;
  }
  return OnnxRuntimeProcess();
}

std::vector<std::vector<float>> OnnxRuntimeProcess::run(
    const std::filesystem::path& model, const std::filesystem::path& spec,
    const std::filesystem::path& folder) const {
  std::filesystem::create_directories(folder);
  const nlohmann::json report = output_of_process("run " + in_quotes(model) + " " +
                                                  in_quotes(spec) + " " + in_quotes(folder));
  std::vector<std::vector<float>> outputs;
  for (const auto& output : report.at("outputs")) {
    const std::filesystem::path file = folder / (std::to_string(outputs.size()) + ".bin");
    const std::string type = output.at("type");
    outputs.push_back(type == "uint8"    ? read_as_float<std::uint8_t>(file)
                      : type == "int8"   ? read_as_float<std::int8_t>(file)
                      : type == "uint16" ? read_as_float<std::uint16_t>(file)
                      : type == "int16"  ? read_as_float<std::int16_t>(file)
                                         : read_as_float<float>(file));
  }
  return outputs;
}

std::string OnnxRuntimeProcess::script(const std::string& name,
                                       const std::filesystem::path& operand) {
  return run_command(std::string(TARE_NODE) + " " + TARE_ONNXRUNTIME_DIR + "/" + name + " " +
                     in_quotes(operand))
      .text;
}

std::map<std::string, int> OnnxRuntimeProcess::kernels(
    const std::filesystem::path& model) const {
  return output_of_process("kernels " + in_quotes(model))
      .at("op_types")
      .get<std::map<std::string, int>>();
}

}  // namespace tare::test
