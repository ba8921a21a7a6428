#include "tare/config.h"

#include "tare/error.h"

#include "io/config_reader.h"
#include "io/config_schema.h"
#include "io/read_config.h"
#include "io/target_path.h"

#include <algorithm>
#include <optional>

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
  const auto check = [&](const RequantizeConfig& requantize, const std::string& place) {
    const auto rounding =
        requantize.rounding ? requantize.rounding : config.requantize.rounding;
    const bool is_known = rounding || !is_target_file(config.target);
    if (is_known &&
        !is_defined(requantize_mode(rounding.value_or(RequantizeRounding::kHalfEven),
                                    requantize.arithmetic))) {
      faults.add(place, "'requantize.rounding' is not defined in that 'requantize.arithmetic'",
                 "float for half_even, fixed_point for tflite_double, tflite_single and shift");
    }
  };
  check(config.requantize, where);
  for (const LayerRule& rule : config.layers) {
    check(rule.requantize, rule.where);
  }
  const bool powers_of_two =
      config.activations.power_of_two && config.weights.power_of_two &&
      std::all_of(config.layers.begin(), config.layers.end(), [](const LayerRule& rule) {
        return rule.activations.power_of_two.value_or(true) &&
               rule.weights.power_of_two.value_or(true);
      });
  if (config.requantize.rounding == RequantizeRounding::kShift && !powers_of_two &&
      !is_target_file(config.target)) {
    faults.add(where, "'requantize.rounding' is shift between scales that may be anything",
               "'power_of_two: true' for activations and weights");
  }
}

/// Of every key but those of entries of `layers:`.
std::vector<std::string> general_paths(const std::vector<std::string>& calibrators) {
  std::vector<std::string> paths;
  for (const ConfigKey& key : config_keys(calibrators)) {
    if (!key.path.starts_with("layers[]")) {
      paths.push_back(key.path);
    }
  }
  return paths;
}

/// What the tree lists under `plugins`; null where it lists nothing, or what is no list.
const YamlNode* listed_plugins(const YamlNode& root) {
  const auto found = std::find_if(root.entries.begin(), root.entries.end(), [](const auto& e) {
    return e.first.text == "plugins" && e.second.kind == YamlNode::Kind::kList;
  });
  return found == root.entries.end() ? nullptr : &found->second;
}

std::vector<std::filesystem::path> plugin_files(const YamlNode& list,
                                                const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const YamlNode& item : list.items) {
    files.push_back(folder / item.text);
  }
  return files;
}

/// What overrides list in place of the file; nothing where they list nothing.
std::optional<std::vector<std::filesystem::path>> plugins_of(
    const std::vector<std::string>& overrides) {
  std::optional<std::vector<std::filesystem::path>> given;
  for (const std::string& text : overrides) {
    const YamlNode node = text.starts_with("plugins=") ? parse_override(text) : YamlNode{};
    if (const YamlNode* list = listed_plugins(node)) {
      given = plugin_files(*list, {});
    }
  }
  return given;
}

/// The text under `target` of the tree; empty where there is none.
std::string target_of(const YamlNode& root) {
  const auto found = std::find_if(root.entries.begin(), root.entries.end(), [](const auto& e) {
    return e.first.text == "target" && e.second.kind == YamlNode::Kind::kScalar;
  });
  return found == root.entries.end() ? std::string() : found->second.text;
}

}  // namespace

std::vector<std::filesystem::path> read_plugins(const std::filesystem::path& path,
                                                const std::vector<std::string>& overrides) {
  if (const auto given = plugins_of(overrides); given || path.empty()) {
    return given.value_or(std::vector<std::filesystem::path>{});
  }
  const YamlNode root = read_yaml(path);
  const YamlNode* list = listed_plugins(root);
  return list == nullptr ? std::vector<std::filesystem::path>{}
                         : plugin_files(*list, path.parent_path());
}

void refuse_plugins_of_file(const std::filesystem::path& path,
                            const std::vector<std::string>& overrides) {
  if (path.empty() || plugins_of(overrides)) {
    return;
  }
  const YamlNode root = read_yaml(path);
  const YamlNode* list = listed_plugins(root);
  Faults faults;
  for (const YamlNode& item : list != nullptr ? list->items : std::vector<YamlNode>{}) {
    faults.add(item.where, "plug-in '" + item.text + "' would run as part of this program");
  }
  if (!faults.empty()) {
    throw Error(ErrorCode::kInvalidConfig, faults.all())
        .hint("give '--allow-plugins' if you trust this file and what it names");
  }
}

std::string read_target_name(const std::filesystem::path& path,
                             const std::vector<std::string>& overrides) {
  std::string name = Config().target;
  if (!path.empty()) {
    const std::string listed = target_of(read_yaml(path));
    name = listed.empty() ? name : target_beside(path, listed);
  }
  for (const std::string& text : overrides) {
    if (text.starts_with("target=")) {
      name = target_of(parse_override(text));
    }
  }
  return name;
}

Schedule schedule_of(const Config& config) {
  return config.schedule.value_or(config.effort == Effort::kFast ? Schedule::kIndependent
                                                                 : Schedule::kSequential);
}

double slowdown_of(const Config& config, const Target& target, std::optional<double> saved) {
  constexpr double kShare = 0.6;
  // Costs of a processor are exact enough to spend more of the time that they leave.
  const double best = target.processor.empty() ? 0.1 : saved ? kShare * *saved : 0.3;
  const double usual = config.effort == Effort::kFast   ? 0
                       : config.effort == Effort::kBest ? std::max(best, target.slowdown)
                                                        : target.slowdown;
  return config.slowdown.value_or(usual);
}

namespace {

/// What the document says, if there is one (from `path`, if it is a file), and overrides on
/// top.
Config configured(const YamlNode* root, const std::filesystem::path& path,
                  const std::string& name, const std::vector<std::string>& overrides,
                  const std::vector<std::string>& calibrators) {
  const KnownNames known{.calibrators = calibrators, .targets = target_names()};
  Config config;
  ConfigFaults faults(general_paths(calibrators));
  if (root != nullptr) {
    apply(*root, config, known, faults);
    config.target = target_beside(path, config.target);
  }
  for (const std::string& text : overrides) {
    try {
      apply(parse_override(text), config, known, faults);
    } catch (const Error& error) {
      faults.add(error);
    }
  }
  check_together(config, name, faults);
  faults.raise();
  return config;
}

}  // namespace

Config read_config(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                   const std::vector<std::string>& calibrators) {
  if (path.empty()) {
    return configured(nullptr, path, "configuration", overrides, calibrators);
  }
  const YamlNode root = read_yaml(path);
  return configured(&root, path, path.string(), overrides, calibrators);
}

Config read_config_text(const std::string& yaml, const std::string& name,
                        const std::vector<std::string>& overrides,
                        const std::vector<std::string>& calibrators) {
  const YamlNode root = parse_yaml(yaml, {name});
  return configured(&root, {}, name, overrides, calibrators);
}

}  // namespace tare
