#include "outputs.h"

#include "tare/error.h"
#include "tare/model_files.h"
#include "tare/process.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <sys/stat.h>

namespace tare::cli {

namespace fs = std::filesystem;

namespace {

struct Suffix {
  std::string_view suffix;
  std::string_view what;
  Content content;
  bool is_written = true;
};

/// The first of a content is the one that is proposed.
constexpr std::array kSuffixes{
    Suffix{".onnx", "an ONNX model", Content::kModel},
    Suffix{".tflite", "a TensorFlow Lite model", Content::kModel, false},
    Suffix{".h5", "an HDF5 file", Content::kArrays},
    Suffix{".hdf5", "an HDF5 file", Content::kArrays},
    Suffix{".yaml", "a YAML file", Content::kTable},
    Suffix{".yml", "a YAML file", Content::kTable},
    Suffix{".html", "a report", Content::kReport},
    Suffix{".json", "a report", Content::kReport},
    Suffix{".csv", "a report", Content::kReport}};

/// Readers go by the suffix, so a file of another kind under it could not be read again.
void require_suffix(const fs::path& path, Content content, Faults& faults) {
  const auto named = std::find_if(
      kSuffixes.begin(), kSuffixes.end(),
      [&](const Suffix& suffix) { return suffix.suffix == path.extension().string(); });
  if (named == kSuffixes.end() || (named->content == content && named->is_written)) {
    return;
  }
  const auto right =
      std::find_if(kSuffixes.begin(), kSuffixes.end(),
                   [&](const Suffix& suffix) { return suffix.content == content; });
  faults.add(path.string(),
             "has the suffix of " + std::string(named->what) + ", but " +
                 std::string(right->what) + " is written",
             "a name that ends in " + std::string(right->suffix));
}

/// What tells files apart, whatever they are called: device and inode, or, of a file that is to
/// be made, those of its folder and its name there.
using Identity = std::pair<std::pair<dev_t, ino_t>, std::string>;

Identity identity(const fs::path& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) == 0) {
    return {{found.st_dev, found.st_ino}, ""};
  }
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (::stat(folder.c_str(), &found) != 0) {
    found = {};
  }
  return {{found.st_dev, found.st_ino}, path.filename().string()};
}

}  // namespace

void CommandFiles::reads(const fs::path& path) {
  if (!path.empty()) {
    inputs_.push_back(path);
  }
}

void CommandFiles::reads(const std::vector<std::string>& paths) {
  inputs_.insert(inputs_.end(), paths.begin(), paths.end());
}

void CommandFiles::reads_model(const fs::path& path) {
  reads(path);
  if (path.extension() == ".tflite" || path.extension() == ".tir") {
    return;
  }
  try {
    for (const fs::path& file : external_files(path)) {
      reads(file);
    }
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): reading the model says it better
  }
}

void CommandFiles::writes(const fs::path& path, Content content) {
  if (path.empty()) {
    return;
  }
  outputs_.push_back({.path = path, .content = content});
  if (content == Content::kModel) {
    keeps_beside(path, ".data");
  }
}

void CommandFiles::keeps_beside(const fs::path& output, const std::string& suffix) {
  fs::path path = output;
  path += suffix;
  outputs_.push_back({.path = path, .beside = output});
}

void CommandFiles::check() const {
  std::map<Identity, fs::path> inputs;
  for (const fs::path& input : inputs_) {
    inputs.emplace(identity(input), input);
  }
  std::map<Identity, fs::path> taken;
  std::set<fs::path> impossible;
  Faults unwritable;
  Faults faults;
  for (const Output& output : outputs_) {
    if (impossible.contains(output.beside)) {
      continue;
    }
    const std::string path = output.path.string();
    const std::string wanted = output.beside.empty()
                                   ? "another file"
                                   : "another output than '" + output.beside.string() +
                                         "', which needs that name beside it";
    try {
      const Identity id = identity(output_target(output.path));
      const auto [other, is_new] = taken.emplace(id, output.path);
      if (const auto input = inputs.find(id); input != inputs.end()) {
        unwritable.add(path, "is the same file as the input '" + input->second.string() + "'",
                       wanted);
      } else if (!is_new && other->second == output.path) {
        faults.add(path, "is to hold two outputs");
      } else if (!is_new) {
        faults.add(path, "is the same file as the output '" + other->second.string() + "'",
                   wanted);
      } else if (output.beside.empty()) {
        require_suffix(output.path, output.content, faults);
      }
    } catch (const Error& error) {
      impossible.insert(output.path);
      for (const Fault& fault : error.faults()) {
        unwritable.add(fault.where, fault.what, fault.expected);
      }
    }
  }
  unwritable.raise(ErrorCode::kIo);
  faults.raise(ErrorCode::kInvalidConfig);
}

}  // namespace tare::cli
