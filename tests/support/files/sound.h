#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tare::test {

inline std::string little_endian(std::uint32_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) {
    text += static_cast<char>(value >> (8 * i));
  }
  return text;
}

/// A WAV file of 16 bits, as nearly all recordings.
inline std::string wav_file(const std::vector<std::int16_t>& samples,
                            std::uint32_t channels = 1, std::uint32_t rate = 16000) {
  const auto bytes = static_cast<std::uint32_t>(samples.size() * 2);
  std::string file = "RIFF" + little_endian(36 + bytes, 4) + "WAVEfmt " + little_endian(16, 4) +
                     little_endian(1, 2) + little_endian(channels, 2) + little_endian(rate, 4) +
                     little_endian(rate * channels * 2, 4) + little_endian(channels * 2, 2) +
                     little_endian(16, 2) + "data" + little_endian(bytes, 4);
  for (const std::int16_t sample : samples) {
    file += little_endian(static_cast<std::uint16_t>(sample), 2);
  }
  return file;
}

}  // namespace tare::test
