#include "io/hdf5_trial.h"

#include "tare/error.h"

#include "io/tensor_file.h"
#include "support/child_count.h"
#include "support/files/damaged_name.h"
#include "support/files/files.h"
#include "support/files/folder.h"

#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>

namespace tare::hdf5 {
namespace {

ErrorCode refusal(const std::function<void()>& reading) {
  try {
    try_in_child(reading);
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
  EXPECT_NO_THROW(try_in_child([] { std::raise(SIGALRM); }));
}

TEST(Hdf5Trial, IsNotEndedByAnInterruption) {
  EXPECT_NO_THROW(try_in_child([] { std::raise(SIGINT); }));
}

TEST(Hdf5Trial, LeavesErrorsAndChangesBehind) {
  int calls = 0;
  EXPECT_NO_THROW(try_in_child([&] {
    ++calls;
    throw Error(ErrorCode::kIo, "", "is not a readable HDF5 file");
  }));
  EXPECT_EQ(calls, 0);
}

TEST(Hdf5Trial, ComesBeforeTheReadingThatCounts) {
  int calls = 0;
  EXPECT_EQ(read_with({.trial_in_child = true}, [&] { return ++calls; }), 1);
}

constexpr Hdf5Options kTried{.trial_in_child = true};

class OpenedHdf5 : public test::InFolder {
 protected:
  OpenedHdf5() {
    DatasetWriter writer(path("samples.h5"));
    writer.append("x", Tensor(DType::kFloat32, {3, 2}));
    writer.finish();
    write_tensor_file(path("arrays.h5"), {.attributes = {{"schema", "arrays"}},
                                          .tensors = {{"x", Tensor(DType::kFloat32, {3, 2})}},
                                          .texts = {}});
  }
};

TEST_F(OpenedHdf5, MakesNoChildUnlessOneIsAskedFor) {
  const int before = test::child_count();
  (void)open_dataset(path("samples.h5"))->read("x", 0, 3);
  (void)read_tensor_file(path("arrays.h5"), "arrays");
  EXPECT_EQ(test::child_count(), before);
  (void)open_dataset(path("samples.h5"), kTried)->read("x", 0, 3);
  EXPECT_EQ(test::child_count(), before + 1);
  (void)read_tensor_file(path("arrays.h5"), "arrays", kTried);
  EXPECT_EQ(test::child_count(), before + 2);
}

TEST_F(OpenedHdf5, ThatWouldEndTheProcessIsAnErrorAfterATrial) {
  for (const char* name : {"samples.h5", "arrays.h5"}) {
    test::write_bytes(path(name), test::with_damaged_name(test::bytes_of(path(name))));
  }
  EXPECT_THROW((void)open_dataset(path("samples.h5"), kTried), Error);
  EXPECT_THROW((void)read_tensor_file(path("arrays.h5"), "arrays", kTried), Error);
}

TEST(Hdf5Trial, NeedsNoStatusOfItsChild) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  EXPECT_NO_THROW(try_in_child([] {}));
  std::signal(SIGCHLD, before);
}

}  // namespace
}  // namespace tare::hdf5
