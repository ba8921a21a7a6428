#include "io/samples/sample_files.h"

#include "tare/error.h"

#include "base/input_file.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <string_view>
#include <utility>

namespace tare {

namespace fs = std::filesystem;

namespace {

constexpr std::array<std::pair<std::string_view, FileKind>, 21> kNames{
    {{".h5", FileKind::kHdf5},        {".hdf5", FileKind::kHdf5},
     {".npy", FileKind::kNpy},        {".npz", FileKind::kNpz},
     {".png", FileKind::kPicture},    {".jpg", FileKind::kPicture},
     {".jpeg", FileKind::kPicture},   {".jpe", FileKind::kPicture},
     {".jfif", FileKind::kPicture},   {".bmp", FileKind::kPicture},
     {".dib", FileKind::kPicture},    {".wav", FileKind::kRecording},
     {".wave", FileKind::kRecording}, {".raw", FileKind::kRaw},
     {".bin", FileKind::kRaw},        {".f32", FileKind::kRaw},
     {".dat", FileKind::kRaw},        {".txt", FileKind::kList},
     {".lst", FileKind::kList},       {".list", FileKind::kList},
     {".csv", FileKind::kList}}};

constexpr const char* kExpected = "HDF5, .npz, .npy, PNG, JPEG, BMP, WAV or .raw files";

bool holds_samples(FileKind kind) {
  return kind != FileKind::kUnknown && kind != FileKind::kList;
}

/// What is directly in a folder, sorted.
struct FolderContents {
  std::vector<fs::path> files;
  std::vector<fs::path> folders;
};

FolderContents contents_of(const fs::path& folder) {
  FolderContents contents;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const fs::path& path = entry->path();
    if (path.filename().string().starts_with(".")) {
      continue;
    }
    std::error_code broken;  // a link that leads nowhere is found when it is opened
    if (fs::is_directory(fs::status(path, broken))) {
      contents.folders.push_back(path);
    } else if (holds_samples(kind_of(path))) {
      contents.files.push_back(path);
    }
  }
  if (error) {
    throw Error(ErrorCode::kIo, folder.string(), "cannot be read: " + error.message());
  }
  std::sort(contents.files.begin(), contents.files.end());
  std::sort(contents.folders.begin(), contents.folders.end());
  return contents;
}

void set_kind(SampleFiles& files, const fs::path& place) {
  files.kind = kind_of(files.paths.front());
  const auto other =
      std::find_if(files.paths.begin(), files.paths.end(),
                   [&](const fs::path& path) { return kind_of(path) != files.kind; });
  if (other != files.paths.end()) {
    throw Error(ErrorCode::kInvalidData, place.string(),
                "holds " + kind_name(files.kind) + " ('" +
                    files.paths.front().filename().string() + "') and " +
                    kind_name(kind_of(*other)) + " ('" + other->filename().string() + "')")
        .expected("samples of one kind");
  }
}

/// Line number and what is wrong there.
struct ListLine {
  std::string_view path;
  std::optional<std::int64_t> label;
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t begin = text.find_first_not_of(kSpace);
  return begin == std::string_view::npos
             ? std::string_view()
             : text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

/// The last word is a label if it is an integer and something is before it.
ListLine parse_line(std::string_view line) {
  const std::size_t gap = line.find_last_of(" \t,");
  if (gap == std::string_view::npos) {
    return {line, std::nullopt};
  }
  const std::string_view word = line.substr(gap + 1);
  std::int64_t label = 0;
  const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), label);
  if (error != std::errc{} || rest != word.data() + word.size()) {
    return {line, std::nullopt};
  }
  std::string_view path = trimmed(line.substr(0, gap));
  while (path.ends_with(',')) {
    path = trimmed(path.substr(0, path.size() - 1));
  }
  return {path, label};
}

}  // namespace

FileKind kind_of(const fs::path& path) {
  std::string suffix = path.extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto found = std::find_if(kNames.begin(), kNames.end(),
                                  [&](const auto& name) { return name.first == suffix; });
  return found == kNames.end() ? FileKind::kUnknown : found->second;
}

std::string kind_name(FileKind kind) {
  switch (kind) {
    case FileKind::kHdf5:
      return "HDF5 files";
    case FileKind::kNpy:
      return ".npy files";
    case FileKind::kNpz:
      return ".npz files";
    case FileKind::kPicture:
      return "pictures";
    case FileKind::kRecording:
      return "recordings";
    case FileKind::kRaw:
      return "files of raw numbers";
    case FileKind::kList:
    case FileKind::kUnknown:
      break;
  }
  return "other files";
}

SampleFiles files_of_folder(const fs::path& folder) {
  const FolderContents contents = contents_of(folder);
  SampleFiles result;
  if (!contents.files.empty()) {
    result.paths = contents.files;
    set_kind(result, folder);
    return result;
  }
  result.labels.emplace();
  for (std::size_t label = 0; label < contents.folders.size(); ++label) {
    for (fs::path& path : contents_of(contents.folders[label]).files) {
      result.paths.push_back(std::move(path));
      result.labels->push_back(static_cast<std::int64_t>(label));
    }
  }
  if (result.paths.empty()) {
    throw Error(ErrorCode::kInvalidData, folder.string(), "is a folder without samples")
        .expected(std::string(kExpected) + ", or a folder of them for each class");
  }
  set_kind(result, folder);
  return result;
}

SampleFiles files_of_list(const fs::path& list) {
  const InputFile file(list);
  constexpr std::uint64_t kMostBytes = std::uint64_t{256} << 20U;
  if (file.size() > kMostBytes) {
    throw Error(ErrorCode::kInvalidData, list.string(), "is larger than 256 MiB")
        .expected("a list of paths");
  }
  const std::string text = file.contents();
  SampleFiles result;
  std::vector<std::int64_t> labels;
  Faults faults;
  std::size_t number = 0;
  constexpr std::size_t kMostFaults = 10;
  for (std::string_view rest(text); !rest.empty() && faults.size() < kMostFaults;) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view text_of_line = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    if (text_of_line.empty() || text_of_line.starts_with('#')) {
      continue;
    }
    const ListLine line = parse_line(text_of_line);
    const std::string place = list.string() + ":" + std::to_string(number);
    fs::path path = list.parent_path() / fs::path(std::string(line.path));
    if (!holds_samples(kind_of(path)) || text_of_line.find('\0') != std::string_view::npos) {
      faults.add(place, "'" + std::string(line.path) + "' has no known suffix", kExpected);
    } else if (!result.paths.empty() && line.label.has_value() == labels.empty()) {
      faults.add(place, line.label ? "has a label" : "has no label",
                 line.label ? "none, as in the lines before" : "one, as in the lines before");
    }
    if (line.label) {
      labels.push_back(*line.label);
    }
    result.paths.push_back(std::move(path));
  }
  faults.raise(ErrorCode::kInvalidData);
  if (result.paths.empty()) {
    throw Error(ErrorCode::kInvalidData, list.string(), "lists no files");
  }
  if (!labels.empty()) {
    result.labels = std::move(labels);
  }
  set_kind(result, list);
  return result;
}

}  // namespace tare
