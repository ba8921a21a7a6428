// Writes the small networks of the tests, for a fuzzer to begin with.
#include "tflite/tflite_builder.h"

#include <filesystem>
#include <fstream>

int main(int count, char** arguments) {
  if (count != 2) {
    return 2;
  }
  const std::filesystem::path folder = arguments[1];
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const auto network :
       {tare::testing::small_quantized_network, tare::testing::small_moving_network,
        tare::testing::small_float_network}) {
    const auto bytes = network();
    std::ofstream(folder / std::to_string(number++), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  return 0;
}
