// Writes the small models of the tests, for a fuzzer to begin with.
#include "tflite/row_cases.h"

#include <filesystem>
#include <fstream>

int main(int count, char** arguments) {
  if (count != 2) {
    return 2;
  }
  const std::filesystem::path folder = arguments[1];
  std::filesystem::create_directories(folder);
  int number = 0;
  const auto write = [&](const std::vector<std::byte>& bytes) {
    std::ofstream(folder / std::to_string(number++), std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  };
  for (const auto network :
       {tare::testing::small_quantized_network, tare::testing::small_moving_network,
        tare::testing::small_float_network}) {
    write(network());
  }
  for (const tare::testing::RowCase& row : tare::testing::row_cases()) {
    write(tare::testing::file_of(row));
  }
  return 0;
}
