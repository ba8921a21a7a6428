#pragma once

#include <string>

#include <gtest/gtest.h>

namespace tare::test {

/// An HDF5 file whose first tree of names has one beyond all addresses, which HDF5 1.10 follows
/// until it crashes.
inline std::string with_damaged_name(std::string bytes) {
  constexpr std::size_t kTree = 136;  // behind the superblock and the header of the root
  constexpr std::size_t kName = kTree + 32;
  EXPECT_EQ(bytes.substr(kTree, 4), "TREE");
  bytes.replace(kName, 8, 8, '\xff');
  return bytes;
}

}  // namespace tare::test
