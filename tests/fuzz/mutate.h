#pragma once

#include "fuzz/target.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>

namespace tare::fuzz {

/// Files with a few changes, the same ones for the same seed.
class Mutation {
 public:
  explicit Mutation(std::uint32_t seed) : random_(seed) {}

  File of(const FuzzTarget& target, const std::vector<File>& files) {
    File file = files[below(files.size())];
    if (target.change != nullptr && below(4) != 0) {
      return target.change(file, static_cast<std::uint32_t>(random_()));
    }
    for (std::size_t i = below(4); i < 4 && !file.empty(); ++i) {
      change(file, files[below(files.size())]);
    }
    return file;
  }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }
  std::byte byte() {
    constexpr std::array<std::uint8_t, 8> kNotable{0, 1, 2, 0x7F, 0x80, 0xFF, '-', '9'};
    return static_cast<std::byte>(below(2) == 0 ? kNotable[below(kNotable.size())]
                                                : below(256));
  }

  void change(File& file, const File& other) {
    // Half of all changes are at the front, where what others depend on usually is.
    const std::size_t reach =
        below(2) == 0 ? std::min<std::size_t>(file.size(), 512) : file.size();
    const std::size_t at = below(reach);
    const auto place = file.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t length = std::min(file.size() - at, 1 + below(8));
    switch (below(6)) {
      case 0:
        *place ^= static_cast<std::byte>(1U << below(8));
        break;
      case 1:
        *place = byte();
        break;
      case 2:
        std::fill_n(place, length, byte());
        break;
      case 3:
        file.erase(place, place + static_cast<std::ptrdiff_t>(length));
        break;
      case 4:
        file.insert(place, length, byte());
        break;
      default:
        if (other.size() > at) {
          const std::size_t end = at + std::min(other.size() - at, below(64));
          file.insert(place, other.begin() + static_cast<std::ptrdiff_t>(at),
                      other.begin() + static_cast<std::ptrdiff_t>(end));
        }
    }
  }

  std::mt19937 random_;
};

}  // namespace tare::fuzz
