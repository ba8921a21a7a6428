#include "tare/config.h"

#include "tare/error.h"

#include "io/config_reader.h"
#include "io/config_schema.h"

#include <algorithm>

namespace tare {
namespace {

/// "a.b=c" as the tree that a file with  a: {b: c}  would have.
YamlNode parse_override(const std::string& text) {
  const std::string where = "--set " + text;
  const std::size_t equals = text.find('=');
  const std::string path = text.substr(0, equals);
  const std::string dotted = "." + path + ".";
  if (equals == std::string::npos || dotted.find("..") != std::string::npos) {
    throw Error(ErrorCode::kInvalidConfig, where, "is not a setting")
        .expected("KEY.SUBKEY=VALUE");
  }
  if (path == "layers" || path.starts_with("layers.")) {
    throw Error(ErrorCode::kInvalidConfig, where, "'layers' cannot be set here")
        .expected("'layers' in a configuration file");
  }
  YamlNode node = parse_yaml(text.substr(equals + 1), {where, false});
  for (std::size_t end = path.size();;) {
    const std::size_t dot = path.rfind('.', end - 1);
    const std::size_t begin = dot == std::string::npos ? 0 : dot + 1;
    YamlNode key{.kind = YamlNode::Kind::kScalar,
                 .where = where,
                 .text = path.substr(begin, end - begin)};
    YamlNode map{.kind = YamlNode::Kind::kMap, .where = where};
    map.entries.emplace_back(std::move(key), std::move(node));
    node = std::move(map);
    if (begin == 0) {
      return node;
    }
    end = dot;
  }
}

void apply(const YamlNode& root, Config& config, const KnownNames& known,
           ConfigFaults& faults) {
  if (root.kind != YamlNode::Kind::kMap && root.kind != YamlNode::Kind::kNull) {
    faults.add(root.where, "the document is " + root.description(), "a map of keys");
    return;
  }
  ConfigReader reader(root, faults);
  describe(reader, config, known);
  reader.finish();
}

/// Rules over keys that may come from the file and from overrides, in any order.
void check_together(const Config& config, const std::string& where, ConfigFaults& faults) {
  if (!is_defined(config.requantize.mode())) {
    faults.add(where, "'requantize.rounding' is not defined in that 'requantize.arithmetic'",
               "float for half_even, fixed_point for tflite_double, tflite_single and shift");
  }
  const bool powers_of_two =
      config.activations.power_of_two && config.weights.power_of_two &&
      std::all_of(config.layers.begin(), config.layers.end(), [](const LayerRule& rule) {
        return rule.activations.power_of_two.value_or(true) &&
               rule.weights.power_of_two.value_or(true);
      });
  if (config.requantize.rounding == RequantizeRounding::kShift && !powers_of_two) {
    faults.add(where, "'requantize.rounding' is shift between scales that may be anything",
               "'power_of_two: true' for activations and weights");
  }
}

/// Adds what the tree lists under `plugins`; a faulty tree adds nothing.
void add_plugins(const YamlNode& root, const std::filesystem::path& folder,
                 std::vector<std::filesystem::path>& plugins) {
  for (const auto& [key, value] : root.entries) {
    if (key.text == "plugins" && value.kind == YamlNode::Kind::kList) {
      plugins.clear();
      for (const YamlNode& item : value.items) {
        plugins.push_back(folder / item.text);
      }
    }
  }
}

}  // namespace

std::vector<std::filesystem::path> read_plugins(const std::filesystem::path& path,
                                                const std::vector<std::string>& overrides) {
  std::vector<std::filesystem::path> plugins;
  if (!path.empty()) {
    add_plugins(read_yaml(path), path.parent_path(), plugins);
  }
  for (const std::string& text : overrides) {
    if (text.starts_with("plugins=")) {
      add_plugins(parse_override(text), {}, plugins);
    }
  }
  return plugins;
}

Schedule schedule_of(const Config& config) {
  return config.schedule.value_or(config.effort == Effort::kFast ? Schedule::kIndependent
                                                                 : Schedule::kSequential);
}

double slowdown_of(const Config& config) {
  constexpr double kDefault = 0.01;
  constexpr double kBest = 0.1;
  const double usual = config.effort == Effort::kFast   ? 0
                       : config.effort == Effort::kBest ? kBest
                                                        : kDefault;
  return config.slowdown.value_or(usual);
}

Config read_config(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                   const std::vector<std::string>& calibrators) {
  const KnownNames known{.calibrators = calibrators, .targets = target_names()};
  Config config;
  ConfigFaults faults;
  if (!path.empty()) {
    apply(read_yaml(path), config, known, faults);
  }
  for (const std::string& text : overrides) {
    try {
      apply(parse_override(text), config, known, faults);
    } catch (const Error& error) {
      faults.add(error);
    }
  }
  check_together(config, path.empty() ? "configuration" : path.string(), faults);
  faults.raise();
  return config;
}

}  // namespace tare
