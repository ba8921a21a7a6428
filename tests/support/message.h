#pragma once

#include "tare/error.h"

#include <string>

#include <gtest/gtest.h>

namespace tare::test {

/// The message of the Error that `call` throws.
template <class Call>
std::string message_of(const Call& call, ErrorCode code) {
  try {
    (void)call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return "no error";
}

}  // namespace tare::test
