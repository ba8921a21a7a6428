// Targets: the built-in ones, whose files are part of the program, and files of the user's own,
// which change one of them or say all that there is to say.
#include "tare/config.h"
#include "tare/error.h"

#include "io/config_reader.h"
#include "io/target_path.h"
#include "io/target_schema.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

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

/// What a target has to say if it extends none: nothing can be assumed of an engine.
constexpr std::array kRequired{"summary", "patterns", "activation_storage", "weight_storage"};

/// Files that extend files come to an end sooner or later.
constexpr std::size_t kLongestChain = 16;

/// A target's own document, and what it is called where it is extended.
struct TargetDocument {
  std::string name;
  YamlNode root;
};

TargetDocument built_in(const std::string& name) {
  for (const EmbeddedFile& file : kTargets) {
    if (file.name == name) {
      return {name, parse_yaml(std::string(file.text), {"configs/targets/" + name + ".yaml"})};
    }
  }
  const Rule<std::string> known = target_name(target_names());
  throw Error(ErrorCode::kInvalidConfig, "", "unknown target '" + name + "'")
      .expected(known.expected)
      .hint(suggestion(name, target_names()));
}

TargetDocument of_file(const std::filesystem::path& path) {
  YamlNode root = read_yaml(path);
  if (root.kind != YamlNode::Kind::kMap && root.kind != YamlNode::Kind::kNull) {
    throw Error(ErrorCode::kInvalidConfig, root.where, "the document is " + root.description())
        .expected("a map of keys");
  }
  if (root.where.empty()) {
    root.where = path.string();
  }
  return {path.stem().string(), std::move(root)};
}

/// What the document says under `extends`; empty where it does not, or where that is no text.
std::string extended(const YamlNode& root) {
  const auto found = std::find_if(root.entries.begin(), root.entries.end(), [](const auto& e) {
    return e.first.text == "extends" && e.second.kind == YamlNode::Kind::kScalar;
  });
  return found == root.entries.end() ? std::string() : found->second.text;
}

/// The documents that the target consists of, from the one that was named to the last that is
/// extended.
std::vector<TargetDocument> documents(std::string name) {
  std::vector<TargetDocument> chain;
  std::string where;  // of the document that names it
  while (!name.empty()) {
    if (chain.size() == kLongestChain) {
      throw Error(
          ErrorCode::kInvalidConfig, where,
          "more than " + std::to_string(kLongestChain) + " target files extend each other")
          .hint("one of them extends itself, or one that extends it");
    }
    try {
      chain.push_back(is_target_file(name) ? of_file(name) : built_in(name));
    } catch (Error& error) {
      if (!where.empty()) {
        error.during("reading what '" + where + "' extends");
      }
      throw;
    }
    where = is_target_file(name) ? name : "";
    name = target_beside(where, extended(chain.back().root));
  }
  return chain;
}

/// Costs of that processor, or else of the kind that it is one of: avx512_vnni_intel is an
/// avx512_vnni, which is an avx512.
const ProcessorCosts* costs_of(const Target& target, std::string processor) {
  while (true) {
    const auto found =
        std::find_if(target.processors.begin(), target.processors.end(),
                     [&](const ProcessorCosts& costs) { return costs.name == processor; });
    if (found != target.processors.end()) {
      return &*found;
    }
    const std::size_t last = processor.rfind('_');
    if (last == std::string::npos) {
      return nullptr;
    }
    processor.resize(last);
  }
}

/// From here on the costs of that processor are those of the target, as far as it has any.
void choose_processor(Target& target, const std::string& processor) {
  const ProcessorCosts* found = costs_of(target, processor);
  if (found == nullptr) {
    target.processor.clear();
    return;
  }
  target.processor = found->name;
  target.conversion = found->conversion;
  target.least_gain = found->least_gain;
  target.slowdown = found->slowdown;
}

void read_into(Target& target, const TargetDocument& document, const std::string& processor,
               ConfigFaults& faults) {
  ConfigReader reader(document.root, faults);
  describe(reader, target, {.calibrators = {}, .targets = target_names()});
  reader.finish();
  target.name = document.name;
  if (reader.has("processors")) {
    choose_processor(target, processor);
  } else if (reader.has("operators")) {
    target.processor.clear();  // these have costs of their own
  }
  if (reader.has("extends")) {
    return;
  }
  for (const char* key : kRequired) {
    reader.require(reader.has(key), std::string("'") + key + "' is missing",
                   "it, or 'extends' with a target that has it");
  }
}

Target read_anew(const std::string& name, const std::string& processor) {
  const std::vector<TargetDocument> chain = documents(name);
  Target target;
  ConfigFaults faults;
  for (auto document = chain.rbegin(); document != chain.rend(); ++document) {
    read_into(target, *document, processor, faults);
  }
  faults.raise();
  target.extends = extended(chain.front().root);
  return target;
}

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

bool is_target_file(std::string_view name) {
  return std::find(name.begin(), name.end(), '/') != name.end() || name.ends_with(".yaml") ||
         name.ends_with(".yml");
}

std::string target_beside(const std::filesystem::path& file, const std::string& name) {
  return is_target_file(name) ? (file.parent_path() / name).string() : name;
}

std::vector<std::filesystem::path> target_files(const std::string& name) {
  std::vector<std::filesystem::path> files;
  std::string next = name;
  while (is_target_file(next) && files.size() < kLongestChain) {
    files.emplace_back(next);
    try {
      next = target_beside(next, extended(of_file(next).root));
    } catch (const Error&) {
      break;
    }
  }
  return files;
}

std::vector<FusedUnit> read_units(const std::filesystem::path& path) {
  const TargetDocument document = of_file(path);
  ConfigFaults faults;
  ConfigReader reader(document.root, faults);
  std::vector<FusedUnit> units;
  describe_units(reader, units);
  reader.finish();
  reader.require(!units.empty(), "there are no units", "'units' with a list of them");
  faults.raise();
  return units;
}

Target read_target(const std::string& name, const std::string& processor) {
  if (is_target_file(name)) {
    return read_anew(name, processor);
  }
  // What is part of the program stays as it is, and is asked for several times in every run.
  static std::mutex mutex;
  static std::map<std::pair<std::string, std::string>, Target> known;
  const std::lock_guard lock(mutex);
  const auto found = known.find({name, processor});
  return found != known.end()
             ? found->second
             : known.emplace(std::pair(name, processor), read_anew(name, processor))
                   .first->second;
}

}  // namespace tare
