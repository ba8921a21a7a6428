// WAV files, cut into windows that follow each other, or whole. What is left over at the end is
// dropped, and a file that is shorter than a window is filled up with silence.
#include "tare/error.h"

#include "base/input_file.h"
#include "io/samples/formats.h"

#include <algorithm>
#include <array>
#include <utility>

#include <sndfile.h>

namespace tare {
namespace {

constexpr std::int64_t kMostChannels = 64;
constexpr std::int64_t kMostFrames = std::int64_t{1} << 26;  // of a sample

Error bad_wav(const std::filesystem::path& path, const std::string& what) {
  return {ErrorCode::kInvalidData, path.string(), what};
}

std::uint32_t little_u32(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value |= std::to_integer<std::uint32_t>(bytes[at + i]) << (8 * i);
  }
  return value;
}

/// The library plays what there is of a file that was cut off, and says nothing.
void require_whole(const InputFile& file, const std::filesystem::path& path) {
  constexpr std::size_t kRiff = 12;
  constexpr std::size_t kChunk = 8;
  constexpr std::uint32_t kUnknown = 0x7FFFFFFF;  // or more: of what was written to a pipe
  std::array<std::byte, kRiff> riff{};
  if (file.size() < kRiff) {
    throw bad_wav(path, "is no WAV file");
  }
  file.read(0, riff);
  const auto is = [](std::span<const std::byte> bytes, std::string_view word) {
    return std::equal(word.begin(), word.end(), bytes.begin(),
                      [](char a, std::byte b) { return static_cast<std::byte>(a) == b; });
  };
  const bool is_riff = is(riff, "RIFF") || is(riff, "RF64");
  if (!is_riff || !is(std::span(riff).subspan(8), "WAVE")) {
    throw bad_wav(path, "is no WAV file");
  }
  std::array<std::byte, kChunk> chunk{};
  for (std::uint64_t at = kRiff; at + kChunk <= file.size();) {
    file.read(at, chunk);
    const std::uint64_t size = little_u32(chunk, 4);
    const std::uint64_t rest = file.size() - at - kChunk;
    if (is(chunk, "data")) {
      if (size > rest && size < kUnknown) {
        throw bad_wav(path, "is cut off: holds " + std::to_string(rest) + " of " +
                                std::to_string(size) + " bytes of sound");
      }
      return;
    }
    at += kChunk + size + size % 2;
  }
  throw bad_wav(path, "is a WAV file without sound");
}

/// Owns an open file of the library.
class Recording {
 public:
  Recording(const InputFile& file, const std::filesystem::path& path) {
    require_whole(file, path);
    handle_ = sf_open_fd(file.descriptor(), SFM_READ, &info_, SF_FALSE);
    if (handle_ == nullptr) {
      throw bad_wav(path, std::string("is a damaged WAV file: ") + sf_strerror(nullptr));
    }
    const int format = info_.format & SF_FORMAT_TYPEMASK;
    const bool is_wav =
        format == SF_FORMAT_WAV || format == SF_FORMAT_WAVEX || format == SF_FORMAT_RF64;
    if (!is_wav || info_.channels < 1 || info_.channels > kMostChannels || info_.frames < 1 ||
        info_.seekable == 0) {
      close();
      throw bad_wav(path, "is a WAV file of " + std::to_string(info_.frames) + " samples in " +
                              std::to_string(info_.channels) + " channels");
    }
  }
  ~Recording() { close(); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  const SF_INFO& info() const { return info_; }
  /// Frames [first, first + count), all channels of a frame together.
  void read(const std::filesystem::path& path, std::int64_t first, std::int64_t count,
            std::vector<float>& frames) const {
    frames.assign(static_cast<std::size_t>(count * info_.channels), 0);
    if (sf_seek(handle_, first, SEEK_SET) != first ||
        sf_readf_float(handle_, frames.data(), count) != count) {
      throw bad_wav(
          path, "is a damaged WAV file: sample " + std::to_string(first) + " cannot be read");
    }
  }

 private:
  void close() {
    if (handle_ != nullptr) {
      sf_close(std::exchange(handle_, nullptr));
    }
  }

  SF_INFO info_{};
  SNDFILE* handle_ = nullptr;
};

/// Where time is in samples of an input, and how many channels these have.
struct SoundShape {
  Shape sample;  ///< with 0 for a length that each file has of its own
  std::size_t time = 0;
  std::int64_t channels = 1;
};

/// The axis behind the batch that is not 1; the last one if several may be. Of one axis only,
/// this is it.
SoundShape sound_shape(const ModelInput& input, std::optional<std::int64_t> length) {
  const Shape declared = input.shape.value_or(Shape{-1, -1});
  if (declared.empty()) {
    throw Error(ErrorCode::kInvalidConfig, "input '" + input.name + "'",
                "takes single numbers, which recordings are not");
  }
  const bool is_whole = length == kWholeLength;
  SoundShape result;
  result.sample.assign(declared.begin() + (declared.size() == 1 ? 0 : 1), declared.end());
  result.time = result.sample.size() - 1;
  for (std::size_t axis = result.sample.size(); axis-- > 0;) {
    if (result.sample[axis] > 1) {
      result.time = axis;
      break;
    }
  }
  for (std::size_t axis = 0; axis < result.sample.size(); ++axis) {
    std::int64_t& extent = result.sample[axis];
    if (axis == result.time) {
      extent = is_whole ? 0 : length.value_or(extent);
    } else {
      extent = extent < 0 ? 1 : extent;
      result.channels *= extent;
    }
  }
  const std::int64_t said = declared[declared.size() - result.sample.size() + result.time];
  if (is_whole && said >= 0) {
    throw Error(ErrorCode::kInvalidConfig, "input '" + input.name + "'",
                "recordings would be of any length ('length: whole')")
        .expected(std::to_string(said));
  }
  if (!is_whole && length && said >= 0 && *length != said) {
    throw Error(ErrorCode::kInvalidConfig, "input '" + input.name + "'",
                "windows would have " + std::to_string(*length) + " samples")
        .expected(std::to_string(said));
  }
  if (!is_whole &&
      (result.sample[result.time] < 1 || result.sample[result.time] > kMostFrames)) {
    throw Error(ErrorCode::kInvalidConfig, "input '" + input.name + "'",
                "its shape does not say how long a recording is")
        .hint("say it in the configuration: inputs: {" + input.name + ": {length: 16000}}");
  }
  const bool is_beside_time = result.channels == 1 || result.time == 1;
  if (result.channels > kMostChannels || !is_beside_time) {
    throw Error(ErrorCode::kInvalidConfig, "input '" + input.name + "'",
                "has samples of shape " + to_string(result.sample))
        .expected("one axis of time, or [channels, time], as recordings have");
  }
  return result;
}

class RecordingFormat final : public SampleFormat {
 public:
  RecordingFormat(std::string name, const InputPreparation& said, SoundShape shape)
      : name_(std::move(name)), said_(said), shape_(std::move(shape)) {}

  FileContents look_at(const std::filesystem::path& path) const override {
    const InputFile file(path);
    const Recording recording(file, path);
    const SF_INFO& info = recording.info();
    if (said_.rate && info.samplerate != *said_.rate) {
      throw bad_wav(path, "has " + std::to_string(info.samplerate) + " samples per second")
          .expected(std::to_string(*said_.rate));
    }
    if (shape_.channels > 1 && info.channels != shape_.channels) {
      throw bad_wav(path, "has " + std::to_string(info.channels) + " channels")
          .expected(std::to_string(shape_.channels));
    }
    const std::int64_t length = length_of(path, info.frames);
    const auto windows =
        is_whole() ? 1
                   : static_cast<std::size_t>(std::max<std::int64_t>(info.frames / length, 1));
    return {.samples = windows,
            .inputs = {{.name = name_, .dtype = DType::kFloat32, .shape = shape_of(length)}}};
  }

  Tensor read(const std::filesystem::path& path, const std::string&, std::size_t first,
              std::size_t count) const override {
    const InputFile file(path);
    const Recording recording(file, path);
    const std::int64_t length = length_of(path, recording.info().frames);
    Shape shape = shape_of(length);
    shape.insert(shape.begin(), static_cast<std::int64_t>(count));
    Tensor result(DType::kFloat32, std::move(shape));
    const auto to = result.mutable_view<float>();
    std::vector<float> frames;
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t begin = static_cast<std::int64_t>(first + i) * length;
      const std::int64_t there =
          std::clamp<std::int64_t>(recording.info().frames - begin, 0, length);
      recording.read(path, begin, there, frames);
      fill(frames, recording.info().channels,
           to.subspan(i * to.size() / count, to.size() / count));
    }
    return result;
  }

 private:
  bool is_whole() const { return said_.length == kWholeLength; }

  Shape shape_of(std::int64_t length) const {
    Shape shape = shape_.sample;
    shape[shape_.time] = length;
    return shape;
  }

  /// Of a sample of that file.
  std::int64_t length_of(const std::filesystem::path& path, std::int64_t frames) const {
    if (!is_whole()) {
      return shape_.sample[shape_.time];
    }
    const std::int64_t step = said_.multiple_of.value_or(1);
    const std::int64_t length = frames / step * step;
    if (length < 1 || length > kMostFrames) {
      throw bad_wav(path, "has " + std::to_string(frames) + " samples")
          .expected(std::to_string(step) + " to " + std::to_string(kMostFrames));
    }
    return length;
  }

  /// Channels apart where the input has some, else their mean.
  void fill(const std::vector<float>& frames, int channels, std::span<float> to) const {
    const float scale = said_.scale.value_or(1);
    const float mean = said_.mean.empty() ? 0 : said_.mean[0];
    const float std = said_.std.empty() ? 1 : said_.std[0];
    const auto own = static_cast<std::size_t>(channels);
    const auto wanted = static_cast<std::size_t>(shape_.channels);
    const std::size_t count = to.size() / wanted;
    std::fill(to.begin(), to.end(), (0 - mean) / std);
    for (std::size_t t = 0; t < frames.size() / own; ++t) {
      const auto frame = std::span(frames).subspan(t * own, own);
      for (std::size_t c = 0; c < wanted; ++c) {
        float value = frame[wanted == own ? c : 0];
        if (wanted == 1 && own > 1) {
          double sum = 0;
          for (const float channel : frame) {
            sum += static_cast<double>(channel);
          }
          value = static_cast<float>(sum / static_cast<double>(own));
        }
        to[c * count + t] = (value * scale - mean) / std;
      }
    }
  }

  std::string name_;
  InputPreparation said_;
  SoundShape shape_;
};

}  // namespace

std::unique_ptr<SampleFormat> recording_format(const SampleOptions& options) {
  const ModelInput& input = only_input(options, "recordings");
  const InputPreparation& said = preparation_of(options, input.name);
  if (said.multiple_of && said.length != kWholeLength) {
    throw Error(ErrorCode::kInvalidConfig, "input '" + input.name + "'",
                "'multiple_of' is about whole recordings")
        .expected("'length: whole' beside it");
  }
  return std::make_unique<RecordingFormat>(input.name, said, sound_shape(input, said.length));
}

}  // namespace tare
