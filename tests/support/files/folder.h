#pragma once

#include "support/files/temporary_folder.h"
#include "support/message.h"

#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace tare::test {

/// A test with an empty folder of its own.
class InFolder : public ::testing::Test {
 protected:
  std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  std::size_t file_count() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), {}));
  }
  /// The message of the Error that `call` throws, without the folder's name.
  template <class Call>
  std::string message_of(const Call& call, ErrorCode code) const {
    std::string message = test::message_of(call, code);
    const std::string prefix = folder_.string() + "/";
    for (std::size_t at = 0; (at = message.find(prefix)) != std::string::npos;) {
      message.erase(at, prefix.size());
    }
    return message;
  }

 private:
  const TemporaryFolder temporary_;

 protected:
  const std::filesystem::path& folder_ = temporary_.path();
};

}  // namespace tare::test
