// The one place that knows which formats there are.
#include "tare/dataset.h"
#include "tare/error.h"

#include "io/open_hdf5.h"
#include "io/samples/batch_axis.h"
#include "io/samples/file_dataset.h"
#include "io/samples/formats.h"
#include "io/samples/sample_files.h"

#include <utility>

namespace tare {
namespace {

std::unique_ptr<SampleFormat> format_of(FileKind kind, const SampleOptions& options) {
  switch (kind) {
    case FileKind::kNpy:
      return npy_format(options);
    case FileKind::kNpz:
      return npz_format(options);
    case FileKind::kPicture:
      return picture_format(options);
    case FileKind::kRecording:
      return recording_format(options);
    case FileKind::kRaw:
      return raw_format(options);
    case FileKind::kHdf5:
    case FileKind::kList:
    case FileKind::kUnknown:
      break;
  }
  return hdf5_format(options);
}

SampleFiles files_at(const std::filesystem::path& path, FileKind kind) {
  std::error_code missing;
  if (std::filesystem::is_directory(path, missing)) {
    return files_of_folder(path);
  }
  return kind == FileKind::kList ? files_of_list(path)
                                 : SampleFiles{.kind = kind, .paths = {path}, .labels = {}};
}

}  // namespace

const ModelInput& only_input(const SampleOptions& options, std::string_view what) {
  if (options.inputs.empty()) {
    throw Error(ErrorCode::kInvalidConfig, "", std::string(what) + " for no model")
        .expected("the model whose input they are");
  }
  if (options.inputs.size() != 1) {
    std::string names;
    for (const ModelInput& input : options.inputs) {
      names += (names.empty() ? "'" : ", '") + input.name + "'";
    }
    throw Error(ErrorCode::kInvalidData, "",
                std::string(what) + " for a model of " + std::to_string(options.inputs.size()) +
                    " inputs (" + names + ")")
        .expected(
            "HDF5 or .npz files with an array for each, or a folder of .npy files that "
            "are named after them");
  }
  return options.inputs.front();
}

const InputPreparation& preparation_of(const SampleOptions& options, const std::string& input) {
  static const InputPreparation nothing;
  const auto own = options.preparations.find(input);
  if (own != options.preparations.end()) {
    return own->second;
  }
  const auto all = options.preparations.find("*");
  return all == options.preparations.end() ? nothing : all->second;
}

std::unique_ptr<Dataset> open_samples(const std::filesystem::path& path,
                                      const SampleOptions& options) {
  const FileKind kind = kind_of(path);
  std::error_code missing;
  const bool is_folder = std::filesystem::is_directory(path, missing);
  if (!is_folder && (kind == FileKind::kHdf5 || kind == FileKind::kUnknown)) {
    return with_batch_axes(open_hdf5(path, options.hdf5, [&] { return options.inputs; }),
                           options);
  }
  try {
    SampleFiles files = files_at(path, kind);
    if (is_folder && options.inputs.size() > 1) {
      if (auto format = folder_of_inputs(options, files.paths)) {
        return with_batch_axes(file_dataset({.kind = files.kind, .paths = {path}, .labels = {}},
                                            std::move(format), options.inputs),
                               options);
      }
    }
    auto format = format_of(files.kind, options);
    return with_batch_axes(file_dataset(std::move(files), std::move(format), options.inputs),
                           options);
  } catch (Error& error) {
    if (!error.faults().empty() && error.faults().front().where.empty()) {
      error.at(path.string());
    }
    throw;
  }
}

}  // namespace tare
