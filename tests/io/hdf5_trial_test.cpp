#include "io/hdf5_trial.h"

#include "tare/error.h"

#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>

namespace tare::hdf5 {
namespace {

ErrorCode refusal(const std::function<void()>& reading) {
  try {
    try_in_copy(reading);
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kInternal;
}

TEST(Hdf5Trial, RefusesWhatCrashes) {
  EXPECT_EQ(refusal([] { std::abort(); }), ErrorCode::kInvalidData);
  EXPECT_EQ(refusal([] { std::raise(SIGSEGV); }), ErrorCode::kInvalidData);
  EXPECT_EQ(refusal([] { std::raise(SIGBUS); }), ErrorCode::kInvalidData);
}

TEST(Hdf5Trial, RefusesWhatComputesWithoutEnd) {
  // The signal of the limit itself, whose 10 seconds would be too long for a test.
  EXPECT_EQ(refusal([] { std::raise(SIGXCPU); }), ErrorCode::kInvalidData);
}

TEST(Hdf5Trial, SaysNothingOfWhatWaits) {
  EXPECT_NO_THROW(try_in_copy([] { std::raise(SIGALRM); }));
}

TEST(Hdf5Trial, IsNotEndedByAnInterruption) {
  EXPECT_NO_THROW(try_in_copy([] { std::raise(SIGINT); }));
}

TEST(Hdf5Trial, LeavesErrorsAndChangesBehind) {
  int calls = 0;
  EXPECT_NO_THROW(try_in_copy([&] {
    ++calls;
    throw Error(ErrorCode::kIo, "", "is not a readable HDF5 file");
  }));
  EXPECT_EQ(calls, 0);
}

TEST(Hdf5Trial, ComesBeforeTheReadingThatCounts) {
  int calls = 0;
  EXPECT_EQ(read_after_trial([&] { return ++calls; }), 1);
}

TEST(Hdf5Trial, NeedsNoStatusOfItsChild) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  EXPECT_NO_THROW(try_in_copy([] {}));
  std::signal(SIGCHLD, before);
}

}  // namespace
}  // namespace tare::hdf5
