#pragma once

#include "tare/error.h"

#include <random>
#include <string>

#include <gtest/gtest.h>

namespace tare::test {

/// Whether `reading` comes to its end. Anything else but an Error that does not blame us fails
/// the test.
template <class Reading>
bool is_read(const Reading& reading) {
  try {
    reading();
    return true;
  } catch (const Error& error) {
    EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
    return false;
  }
}

/// The bytes with one to eight of them changed: in half of the seeds anywhere, else among the
/// first ones, where files have sizes, addresses and counts.
inline std::string with_changed_bytes(std::string bytes, unsigned seed, std::size_t front) {
  std::mt19937 random(seed);
  const std::size_t reach = seed % 2 == 0 && front < bytes.size() ? front : bytes.size();
  for (unsigned i = 0; i < 1 + seed % 8; ++i) {
    bytes[random() % reach] = static_cast<char>(seed % 3 == 0 ? 0xFF : random());
  }
  return bytes;
}

}  // namespace tare::test
