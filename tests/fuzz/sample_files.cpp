// Pictures, arrays and recordings. The first byte of a case says which name its file has, so
// that one target tries them all.
#include "tare/dataset.h"

#include "fuzz/scratch.h"
#include "fuzz/target.h"

#include <algorithm>
#include <array>
#include <filesystem>

namespace tare::fuzz {
namespace {

constexpr std::array<const char*, 6> kNames{"a.png", "a.npy", "a.npz",
                                            "a.wav", "a.txt", "a.raw"};

File named(std::size_t name, const std::filesystem::path& path) {
  File file{static_cast<std::byte>(name)};
  const File bytes = Scratch::read(path);
  file.insert(file.end(), bytes.begin(), bytes.end());
  return file;
}

/// 16 bits, 20 samples.
File recording() {
  std::string text(
      "\x03RIFF\x4C\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3E\0\0\0\x7D\0\0\x02\0\x10\0"
      "data\x28\0\0\0",
      45);
  text.resize(text.size() + 40, '\x11');
  return file_of(text);
}

std::vector<File> seeds() {
  const std::filesystem::path golden =
      std::filesystem::path(TARE_SOURCE_DIR) / "tests/io/golden";
  std::vector<File> files{recording(), file_of("\x04"
                                               "a.png 1\n")};
  for (const char* picture :
       {"photo.png", "palette.png", "transparent.png", "photo.jpg", "progressive.jpg",
        "inks.jpg", "photo.bmp", "palette.bmp", "two_levels.bmp"}) {
    files.push_back(named(0, golden / picture));
  }
  for (const char* array : {"float16.npy", "bool.npy", "big_endian.npy", "objects.npy"}) {
    files.push_back(named(1, golden / array));
  }
  files.push_back(named(2, golden / "stored.npz"));
  files.push_back(named(2, golden / "deflated.npz"));
  files.push_back(file_of(std::string(1 + 4 * 12, '\x05')));
  return files;
}

void run(Bytes bytes) {
  if (bytes.empty()) {
    return;
  }
  const std::size_t name = std::to_integer<std::size_t>(bytes[0]) % kNames.size();
  const auto path = Scratch::write(kNames[name], bytes.subspan(1));
  const Shape shape = name == 0 ? Shape{1, 3, 8, 8} : name == 3 ? Shape{1, 4} : Shape{-1, 2, 3};
  const auto data = open_samples(path, {.inputs = {{.name = "x", .shape = shape}},
                                        .preparations = {},
                                        .hdf5 = {.trial_in_child = true}});
  (void)data->labels();
  constexpr std::size_t kSamples = 20;
  const std::size_t count = std::min(data->size(), kSamples);
  for (const DatasetInput& input : data->inputs()) {
    for (std::size_t sample = 0; sample < count; ++sample) {
      const Tensor read = data->read(input.name, sample, 1);
      require(read.dtype() == input.dtype, "samples of another type than was said");
      require(Shape(read.shape().begin() + 1, read.shape().end()) == input.shape,
              "samples of another shape than was said");
    }
  }
}

}  // namespace

FuzzTarget fuzz_sample_files() {
  return {"sample_files", seeds, run};
}

}  // namespace tare::fuzz
