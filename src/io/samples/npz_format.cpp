// Arrays of NumPy under the names of inputs, in a ZIP file. Those that are stored are read
// where they are. One that is deflated cannot be entered in its middle: where it holds one
// sample it is unpacked when that is read, and where it holds several, once, to a temporary
// file.
#include "tare/error.h"

#include "base/input_file.h"
#include "base/scratch_file.h"
#include "io/samples/batch_axis.h"
#include "io/samples/formats.h"
#include "io/samples/npy.h"
#include "io/samples/zip_archive.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

namespace tare {
namespace {

constexpr std::string_view kSuffix = ".npy";
constexpr const char* kLabels = "labels";

/// The array that an entry stands for.
std::string array_name(const ZipArchive::Entry& entry) {
  return entry.name.ends_with(kSuffix)
             ? entry.name.substr(0, entry.name.size() - kSuffix.size())
             : entry.name;
}

NpyHeader header_of(const InputFile& file, const ZipArchive& archive,
                    const ZipArchive::Entry& entry) {
  std::vector<std::byte> start;
  if (entry.deflated) {
    archive.inflate(entry, [&](std::span<const std::byte> piece) {
      start.insert(start.end(), piece.begin(), piece.end());
      return start.size() < kMostNpyHeader;
    });
    start.resize(std::min(start.size(), kMostNpyHeader));
  } else {
    start.resize(static_cast<std::size_t>(std::min<std::uint64_t>(entry.size, kMostNpyHeader)));
    file.read(archive.begin(entry), start);
  }
  try {
    return parse_npy_header(start, entry.size);
  } catch (Error& error) {
    error.at("array '" + array_name(entry) + "'");
    throw;
  }
}

class NpzFormat final : public SampleFormat {
 public:
  explicit NpzFormat(std::vector<ModelInput> inputs,
                     const std::function<void(const std::string&)>& notice)
      : inputs_(std::move(inputs)), notice_(notice) {}

  FileContents look_at(const std::filesystem::path& path) const override try {
    const InputFile file(path);
    const ZipArchive archive(file);
    FileContents contents;
    for (const ZipArchive::Entry& entry : archive.entries()) {
      const std::string name = input_name(archive, entry);
      if (name == kLabels) {
        continue;
      }
      const NpyHeader header = header_of(file, archive, entry);
      const ArrayLayout layout = layout_of(header.shape, find_input(inputs_, name));
      if (!contents.inputs.empty() && contents.samples != layout.samples) {
        throw Error(ErrorCode::kInvalidData, "array '" + array_name(entry) + "'",
                    "holds " + std::to_string(layout.samples) + " samples")
            .expected(std::to_string(contents.samples) + " as in '" +
                      contents.inputs.front().name + "'");
      }
      contents.samples = layout.samples;
      contents.inputs.push_back(
          {.name = name, .dtype = header.read_type(), .shape = layout.sample});
    }
    if (contents.inputs.empty()) {
      throw Error(ErrorCode::kInvalidData, "", "holds no arrays")
          .expected("one for each input of the model");
    }
    return contents;
  } catch (Error& error) {
    name_file(error, path);
    throw;
  }

  Tensor read(const std::filesystem::path& path, const std::string& input, std::size_t first,
              std::size_t count) const override try {
    const InputFile file(path);
    const ZipArchive archive(file);
    return read_array(file, archive, path, find(archive, input), input, first, count);
  } catch (Error& error) {
    name_file(error, path);
    throw;
  }

  std::optional<std::vector<std::int64_t>> labels(
      const std::filesystem::path& path) const override try {
    const InputFile file(path);
    const ZipArchive archive(file);
    for (const ZipArchive::Entry& entry : archive.entries()) {
      if (array_name(entry) == kLabels) {
        const NpyHeader header = header_of(file, archive, entry);
        if (!is_integer(header.dtype) || header.shape.size() > 1) {
          throw Error(ErrorCode::kInvalidData, "array 'labels'",
                      "has type " + std::string(name_of(header.dtype)) + " and shape " +
                          to_string(header.shape))
              .expected("one integer for each sample");
        }
        const ArrayLayout layout = layout_of(header.shape, nullptr);
        return read_array(file, archive, path, entry, kLabels, 0, layout.samples).to_int64();
      }
    }
    return std::nullopt;
  } catch (Error& error) {
    name_file(error, path);
    throw;
  }

 private:
  static void name_file(Error& error, const std::filesystem::path& path) {
    if (error.code() == ErrorCode::kInvalidData) {
      error.at(path.string());
    }
  }

  static bool holds_one_array(const ZipArchive& archive) {
    const std::span<const ZipArchive::Entry> entries(archive.entries());
    return entries.size() == 1 || (entries.size() == 2 && (array_name(entries[0]) == kLabels ||
                                                           array_name(entries[1]) == kLabels));
  }

  /// An array of whatever name is the input where there is one of each.
  std::string input_name(const ZipArchive& archive, const ZipArchive::Entry& entry) const {
    const std::string name = array_name(entry);
    if (inputs_.size() == 1 && name != kLabels && name != inputs_[0].name &&
        holds_one_array(archive)) {
      if (notice_ && !is_said_.exchange(true)) {
        notice_("the array '" + name + "' is taken for the input '" + inputs_[0].name +
                "', the only one");
      }
      return inputs_[0].name;
    }
    return name;
  }

  const ZipArchive::Entry& find(const ZipArchive& archive, const std::string& input) const {
    const auto found = std::find_if(
        archive.entries().begin(), archive.entries().end(),
        [&](const ZipArchive::Entry& entry) { return input_name(archive, entry) == input; });
    if (found == archive.entries().end()) {
      throw Error(ErrorCode::kInvalidData, "", "holds no array '" + input + "'");
    }
    return *found;
  }

  Tensor read_array(const InputFile& file, const ZipArchive& archive,
                    const std::filesystem::path& path, const ZipArchive::Entry& entry,
                    const std::string& input, std::size_t first, std::size_t count) const {
    const NpyHeader header = header_of(file, archive, entry);
    const ArrayLayout layout = layout_of(header.shape, find_input(inputs_, input));
    require_samples(layout, first, count);
    Shape shape = layout.sample;
    const auto elements = static_cast<std::uint64_t>(element_count(shape));
    shape.insert(shape.begin(), static_cast<std::int64_t>(count));
    ArrayBytes bytes{.size = entry.size, .read = {}};
    std::vector<std::byte> plain;
    if (!entry.deflated) {
      bytes.read = [&, begin = archive.begin(entry)](std::uint64_t offset,
                                                     std::span<std::byte> to) {
        file.read(begin + offset, to);
      };
    } else if (layout.samples > 1) {
      bytes.read = [&, begin = unpacked_at(archive, path, entry)](std::uint64_t offset,
                                                                  std::span<std::byte> to) {
        unpacked_->read(static_cast<std::size_t>(begin + offset), to);
      };
    } else {
      archive.inflate(entry, [&](std::span<const std::byte> piece) {
        plain.insert(plain.end(), piece.begin(), piece.end());
        return true;
      });
      bytes.read = [&](std::uint64_t offset, std::span<std::byte> to) {
        std::memcpy(to.data(), plain.data() + offset, to.size());
      };
    }
    return read_elements(bytes, header, first * elements, std::move(shape));
  }

  /// Where in the temporary file the entry is; whoever asks first puts it there.
  std::uint64_t unpacked_at(const ZipArchive& archive, const std::filesystem::path& path,
                            const ZipArchive::Entry& entry) const {
    const std::lock_guard lock(mutex_);
    const auto key = std::pair(path.string(), entry.name);
    if (const auto found = places_.find(key); found != places_.end()) {
      return found->second;
    }
    if (!unpacked_) {
      unpacked_ = std::make_unique<ScratchFile>();
    }
    const std::uint64_t begin = used_;
    std::uint64_t end = begin;
    archive.inflate(entry, [&](std::span<const std::byte> piece) {
      unpacked_->write(static_cast<std::size_t>(end), piece);
      end += piece.size();
      return true;
    });
    used_ = end;
    places_.emplace(key, begin);
    return begin;
  }

  std::vector<ModelInput> inputs_;
  std::function<void(const std::string&)> notice_;
  mutable std::atomic<bool> is_said_ = false;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<ScratchFile> unpacked_;
  mutable std::map<std::pair<std::string, std::string>, std::uint64_t> places_;
  mutable std::uint64_t used_ = 0;
};

}  // namespace

std::unique_ptr<SampleFormat> npz_format(const SampleOptions& options) {
  return std::make_unique<NpzFormat>(inputs_of_arrays(options), options.notice);
}

}  // namespace tare
