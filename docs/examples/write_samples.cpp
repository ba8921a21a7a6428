// write_samples SAMPLES.h5 INPUT PICTURE.ppm ...: pictures of one size become samples of the
// input of that name, channels first, prepared as networks of torchvision want them. Other
// pictures become such files by ImageMagick: convert cat.jpg -resize '224x224!' cat.ppm
#include <array>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <tare/dataset.h>

namespace {

/// A picture as one sample, [1,3,height,width].
tare::Tensor sample(const std::string& name) {
  constexpr std::array kMean{0.485F, 0.456F, 0.406F};
  constexpr std::array kStd{0.229F, 0.224F, 0.225F};
  std::ifstream file(name, std::ios::binary);
  std::string kind;
  std::int64_t width = 0;
  std::int64_t height = 0;
  int white = 0;
  file >> kind >> width >> height >> white;
  file.get();
  if (!file || kind != "P6" || white != 255 || width < 1 || height < 1) {
    throw std::runtime_error(name + ": not a binary PPM of 8 bits");
  }
  tare::Tensor result(tare::DType::kFloat32, {1, 3, height, width});
  const auto values = result.mutable_view<float>();
  const auto area = static_cast<std::size_t>(width * height);
  for (std::size_t pixel = 0; pixel < area; ++pixel) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      const float share = static_cast<float>(file.get()) / 255;
      values[channel * area + pixel] = (share - kMean[channel]) / kStd[channel];
    }
  }
  if (!file) {
    throw std::runtime_error(name + ": ends too early");
  }
  return result;
}

}  // namespace

int main(int count, char** argument) try {
  const std::vector<std::string> words(argument, argument + count);
  if (words.size() < 4) {
    throw std::runtime_error("usage: write_samples SAMPLES.h5 INPUT PICTURE.ppm ...");
  }
  tare::DatasetWriter writer(words[1]);
  for (std::size_t i = 3; i < words.size(); ++i) {
    writer.append(words[2], sample(words[i]));
  }
  writer.finish();
  const auto written = tare::open_dataset(words[1]);
  std::cout << written->size() << " samples of shape "
            << tare::to_string(written->inputs()[0].shape) << '\n';
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
