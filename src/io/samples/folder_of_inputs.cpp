// A folder with one .npy or .raw file for each input of a model, named after it: together they
// are one file of samples.
#include "tare/error.h"

#include "io/samples/formats.h"
#include "io/samples/sample_files.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tare {
namespace {

struct InputFileOfFolder {
  std::filesystem::path path;
  std::unique_ptr<SampleFormat> format;
};

class FolderOfInputs final : public SampleFormat {
 public:
  explicit FolderOfInputs(std::map<std::string, InputFileOfFolder> files)
      : files_(std::move(files)) {}

  FileContents look_at(const std::filesystem::path& folder) const override {
    FileContents all;
    for (const auto& [name, file] : files_) {
      FileContents own = file.format->look_at(file.path);
      if (!all.inputs.empty() && own.samples != all.samples) {
        throw Error(ErrorCode::kInvalidData, file.path.string(),
                    "holds " + std::to_string(own.samples) + " samples")
            .expected(std::to_string(all.samples) + " as in '" + all.inputs.front().name +
                      "' of '" + folder.string() + "'");
      }
      all.samples = own.samples;
      all.inputs.push_back(std::move(own.inputs.front()));
    }
    return all;
  }
  Tensor read(const std::filesystem::path&, const std::string& input, std::size_t first,
              std::size_t count) const override {
    const InputFileOfFolder& file = files_.at(input);
    return file.format->read(file.path, input, first, count);
  }

 private:
  std::map<std::string, InputFileOfFolder> files_;
};

}  // namespace

std::unique_ptr<SampleFormat> folder_of_inputs(
    const SampleOptions& options, const std::vector<std::filesystem::path>& paths) {
  std::map<std::string, InputFileOfFolder> files;
  for (const ModelInput& input : options.inputs) {
    const auto found =
        std::find_if(paths.begin(), paths.end(), [&](const std::filesystem::path& path) {
          return path.stem().string() == input.name &&
                 (kind_of(path) == FileKind::kNpy || kind_of(path) == FileKind::kRaw);
        });
    if (found == paths.end()) {
      return nullptr;
    }
    SampleOptions own = options;
    own.inputs = {input};
    files[input.name] = {*found,
                         kind_of(*found) == FileKind::kNpy ? npy_format(own) : raw_format(own)};
  }
  return files.size() < 2 ? nullptr : std::make_unique<FolderOfInputs>(std::move(files));
}

}  // namespace tare
