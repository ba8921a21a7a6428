#include "tare/config.h"
#include "tare/error.h"

#include "io/config_reader.h"
#include "io/config_schema.h"

#include <array>
#include <string_view>

namespace tare {
namespace {

struct EmbeddedFile {
  std::string_view name;
  std::string_view text;
};

constexpr std::array kTargets{
#define TARE_X(name, text) EmbeddedFile{name, text},
#include "target_list.inc"
#undef TARE_X
};

}  // namespace

Range FixedRange::range(DType storage) const {
  const StorageRange values = storage_range(storage, false);
  return {low, high - (high - low) / static_cast<double>(values.high - values.low + 1)};
}

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : kTargets) {
    names.emplace_back(file.name);
  }
  return names;
}

Target read_target(const std::string& name) {
  for (const EmbeddedFile& file : kTargets) {
    if (file.name == name) {
      Target target;
      target.name = name;
      ConfigFaults faults;
      const YamlNode root =
          parse_yaml(std::string(file.text), {"configs/targets/" + name + ".yaml"});
      ConfigReader reader(root, faults);
      describe(reader, target);
      reader.finish();
      faults.raise();
      return target;
    }
  }
  Error error(ErrorCode::kInvalidConfig, "", "unknown target '" + name + "'");
  throw error.expected(alternatives(target_names())).hint(suggestion(name, target_names()));
}

}  // namespace tare
