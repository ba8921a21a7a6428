#include "help/config_help.h"

#include "tare/config.h"
#include "tare/error.h"
#include "tare/toolkit.h"

#include "printing/layout.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace tare::cli {
namespace {

constexpr std::string_view kLayers = "layers[]";
constexpr std::string_view kInput = "inputs.NAME";

/// Lines of a file, each behind the same prefix.
class Lines {
 public:
  Lines(const Terminal& terminal, std::string prefix)
      : terminal_(terminal), prefix_(std::move(prefix)) {}

  const std::string& text() const { return text_; }

  void blank() { text_ += "\n"; }
  void setting(std::size_t indent, const std::string& line) {
    text_ += prefix_ + std::string(indent, ' ') + line + "\n";
  }
  void comment(std::size_t indent, const std::string& words) {
    const std::string margin = prefix_ + std::string(indent, ' ') + "# ";
    const std::string lines = wrapped(words, 0, terminal_.help_columns - margin.size());
    for (std::size_t begin = 0; begin < lines.size();) {
      const std::size_t end = std::min(lines.find('\n', begin), lines.size());
      text_ +=
          terminal_.styled(Style::kQuiet, margin + lines.substr(begin, end - begin)) + "\n";
      begin = end + 1;
    }
  }

 private:
  const Terminal& terminal_;
  std::string prefix_;
  std::string text_;
};

/// What stands in the file: "activations.storage" is "storage" within "activations".
struct Place {
  std::string name;
  std::size_t indent = 0;
};

Place place_of(const ConfigKey& key) {
  const auto depth =
      static_cast<std::size_t>(std::count(key.path.begin(), key.path.end(), '.'));
  return {key.path.substr(key.path.rfind('.') + 1), 2 * depth};
}

/// "dims.NAME": a key of the model's choice, of which there are none by default.
bool is_free(const ConfigKey& key) {
  return key.path.ends_with(".NAME");
}

void add_comments(const ConfigKey& key, std::size_t indent, Lines& lines) {
  lines.comment(indent, key.summary);
  if (key.values != "a map") {
    lines.comment(indent,
                  "takes: " + (is_free(key) ? "{NAME: " + key.values + "}" : key.values));
  }
  if (key.path == "target") {
    for (const std::string& name : target_names()) {
      lines.comment(indent, "  " + name + ": " + read_target(name).summary);
    }
  }
}

void add_setting(const ConfigKey& key, const Place& place, const std::string& bullet,
                 Lines& lines) {
  // Globs begin with what YAML has another use for.
  const bool needs_quotes = key.value.find('*') != std::string::npos;
  const std::string value = needs_quotes   ? yaml_scalar(key.value)
                            : is_free(key) ? "{}"
                                           : key.value;
  lines.setting(place.indent - bullet.size(),
                bullet + place.name + ":" + (value.empty() ? "" : " " + value));
}

/// Of any entry of `layers:`; the first key has the bullet.
void add_layers(const std::vector<ConfigKey>& keys, Lines& lines) {
  std::string bullet = "- ";
  for (const ConfigKey& key : keys) {
    if (key.path.starts_with(kLayers) && key.path != kLayers) {
      Place place = place_of(key);
      place.indent += 2;
      add_comments(key, place.indent, lines);
      add_setting(key, place, bullet, lines);
      bullet.clear();
    }
  }
}

/// Of any entry of `inputs:`.
void add_input(const std::vector<ConfigKey>& keys, Lines& lines) {
  for (const ConfigKey& key : keys) {
    if (key.path.starts_with(kInput) && key.path != kInput) {
      const Place place = place_of(key);
      add_comments(key, place.indent, lines);
      add_setting(key, place, "", lines);
    }
  }
}

/// Before the example of a key that has no entries by default.
void add_introduction(const std::vector<ConfigKey>& keys, std::string_view path, Lines& lines) {
  const auto found = std::find_if(keys.begin(), keys.end(),
                                  [&](const ConfigKey& key) { return key.path == path; });
  lines.comment(0, found->summary);
  lines.comment(0, "There are none by default; an entry with all its keys:");
}

}  // namespace

std::string config_help(const Terminal& terminal) {
  const std::vector<ConfigKey> keys = config_keys(Toolkit::builtin().calibrator_names());
  Lines lines(terminal, "");
  lines.comment(0,
                "A configuration (YAML) with all keys and their defaults. Keep the lines that "
                "differ.");
  lines.comment(0,
                "--set KEY=VALUE sets one key from the command line, such as "
                "activations.calibrator=kl; those of layers need a file.");
  for (const ConfigKey& key : keys) {
    if (key.path.starts_with(kLayers) || key.path.starts_with(kInput)) {
      continue;
    }
    const Place place =
        is_free(key) ? Place{key.path.substr(0, key.path.find('.')), 0} : place_of(key);
    if (place.indent == 0) {
      lines.blank();
    }
    add_comments(key, place.indent, lines);
    add_setting(key, place, "", lines);
  }
  Lines inputs(terminal, "#");
  inputs.setting(0, "inputs:");
  inputs.setting(2, "\"*\":");
  add_input(keys, inputs);
  lines.blank();
  add_introduction(keys, kInput, lines);
  Lines example(terminal, "#");
  example.setting(0, "layers:");
  add_layers(keys, example);
  Lines before_layers(terminal, "");
  before_layers.blank();
  add_introduction(keys, kLayers, before_layers);
  return lines.text() + inputs.text() + before_layers.text() + example.text();
}

}  // namespace tare::cli
