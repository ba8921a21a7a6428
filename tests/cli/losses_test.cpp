// Whatever a command is told, it loses nothing that was there, and leaves nothing unfinished.
#include "cli/in_program_folder.h"
#include "support/sanitized.h"

#include <string>
#include <vector>

#include <unistd.h>

namespace tare::test {
namespace {

class Losses : public InProgramFolder {
 protected:
  /// Status 2 with these words, and every file is as it was.
  void expect_refused(const std::string& command, const std::string& words) const {
    const auto before = contents();
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.status, 2) << command << "\n" << outcome.err;
    EXPECT_NE(outcome.err.find(words), std::string::npos) << command << "\n" << outcome.err;
    EXPECT_TRUE(contents() == before) << command << "\nchanged a file";
  }
};

TEST_F(Losses, AnOutputIsNeverAFileWithConstantsOfTheModel) {
  const std::string is_input = "is the same file as the input";
  const std::string from = " outside.onnx --data outside.h5 ";
  expect_refused("tare quantize" + from + "-o outside.bin", is_input);
  expect_refused("tare quantize" + from + "-o q.onnx --table outside.bin", is_input);
  expect_refused("tare quantize" + from + "-o q.onnx --stats ./outside.bin", is_input);
  expect_refused("tare run" + from + "-o outside.bin", is_input);
  expect_refused("tare calibrate" + from + "-o outside.bin", is_input);
  expect_refused("tare search" + from + "-o outside.bin --require 'output.sqnr>=1'", is_input);
  for (const char* option : {"--json", "--csv"}) {
    expect_refused(std::string("tare compare outside.onnx outside.onnx --data outside.h5 ") +
                       option + " outside.bin",
                   is_input);
  }
}

TEST_F(Losses, WhatIsKeptBesideAnOutputIsNoInput) {
  succeed(
      "cp calibration.h5 s.h5.checkpoint; cp calibration.h5 z.onnx.checkpoint; "
      "cp digits.onnx o.onnx.data");
  const std::string beside = "needs that name beside it";
  expect_refused("tare calibrate digits.onnx --data s.h5.checkpoint -o s.h5", beside);
  expect_refused(
      "tare search digits.onnx --data z.onnx.checkpoint -o z.onnx --require 'output.sqnr>=1'",
      beside);
  expect_refused("tare quantize o.onnx.data --data calibration.h5 -o o.onnx", beside);
}

TEST_F(Losses, ASearchLeavesAFileCalledTrialAlone) {
  succeed("cp digits.onnx z.onnx.trial");
  const std::string model = bytes("z.onnx.trial");
  succeed(
      "tare search z.onnx.trial --data calibration.h5 --samples 12 -o z.onnx --require "
      "'output.sqnr>=1'");
  EXPECT_TRUE(bytes("z.onnx.trial") == model);
}

TEST_F(Losses, AnOutputIsNoInputByAnotherName) {
  succeed("ln digits.onnx hard.onnx; mkdir sub; ln -s ../digits.onnx sub/link.onnx");
  const std::string is_input = "is the same file as the input";
  const std::string from = "tare quantize digits.onnx --data calibration.h5 ";
  expect_refused(from + "-o hard.onnx", is_input);
  expect_refused(from + "-o sub/link.onnx", is_input);
  expect_refused(from + "-o sub/../digits.onnx", is_input);
  expect_refused(from + "-o q.onnx --config float.yaml --table ./float.yaml", is_input);
  expect_refused("tare import small.tflite -o ./small.tflite", is_input);
}

TEST_F(Losses, TwoOutputsAreTwoFiles) {
  succeed("mkdir sub; ln -s ../t.yaml sub/link.yaml");
  const std::string from = "tare quantize digits.onnx --data calibration.h5 ";
  const std::string is_output = "is the same file as the output";
  expect_refused(from + "-o o.onnx --table ./o.onnx", is_output);
  expect_refused(from + "-o o.onnx --table \"$PWD/sub/../o.onnx\"", is_output);
  expect_refused(from + "-o o.onnx --table t.yaml --stats sub/link.yaml", is_output);
  expect_refused(from + "-o o.onnx --report r.json --report ./r.json", is_output);
}

TEST_F(Losses, ALinkToWhatAProcessHasOpenStays) {
  succeed("ln -s /proc/self/fd/1 out; ln -s out again");
  const auto before = contents();
  for (const std::string output : {"out", "again"}) {
    for (const std::string command : {"tare quantize digits.onnx --data calibration.h5 -o ",
                                      "tare run digits.onnx --data calibration.h5 -o ",
                                      "tare quantize digits.onnx --data calibration.h5 -o "
                                      "/dev/null --table "}) {
      const Outcome outcome =
          run(command + output + " > ../captured; status=$?; rm ../captured; exit $status");
      EXPECT_EQ(outcome.status, 2) << command << output << outcome.err;
      EXPECT_TRUE(contents() == before) << command << output;
    }
  }
}

TEST_F(Losses, ALinkToAFileLeadsTheOutputThere) {
  succeed("mkdir sub; echo old > sub/q.onnx; ln -s sub/q.onnx q; ln -s sub/new.onnx n");
  succeed("tare quantize digits.onnx --data calibration.h5 -o q");
  succeed("tare quantize digits.onnx --data calibration.h5 -o n");
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "q"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "n"));
  EXPECT_GT(bytes("sub/q.onnx").size(), 10'000U);
  EXPECT_TRUE(bytes("sub/q.onnx") == bytes("sub/new.onnx"));
}

TEST_F(Losses, ASuffixThatReadersGoByIsTheRightOne) {
  const std::string from = "tare quantize digits.onnx --data calibration.h5 ";
  expect_refused(from + "-o q.tflite", "a name that ends in .onnx");
  expect_refused(from + "-o q.h5", "a name that ends in .onnx");
  expect_refused(from + "-o q.onnx --table t.json", "a name that ends in .yaml");
  expect_refused("tare import small.tflite -o q.tflite", "a name that ends in .onnx");
  expect_refused("tare run digits.onnx --data calibration.h5 -o q.onnx",
                 "a name that ends in .h5");
}

// A limit of the size of files is a full disk that any user can make. At some sizes the first
// write fails, at others a later one or the last.
TEST_F(Losses, AFullDiskIsAnErrorThatSaysSo) {
  succeed("tare quantize digits.onnx --data calibration.h5 -o int8.onnx --samples 8");
  // With what waits for later layers in memory, so that it is the output that fails.
  const std::string few = " digits.onnx --data calibration.h5 --samples 8 --memory 1GiB ";
  const std::vector<std::string> commands{
      "tare run digits.onnx --data evaluation.h5 -o o.h5",
      "tare calibrate digits.onnx --data calibration.h5 --samples 8 -o o.h5",
      "tare quantize" + few + "-o q.onnx", "tare quantize" + few + "-o q.onnx --stats o.h5",
      "tare quantize" + few + "-o q.onnx --table t.yaml",
      "tare compare digits.onnx int8.onnx --data calibration.h5 --samples 8 --report r.html",
      // What it has found out until then stays, for the next try.
      "tare search" + few +
          "-o q.onnx --require 'output.sqnr>=1'; status=$?; rm -f q.onnx.checkpoint; exit "
          "$status"};
  for (const std::string blocks : {"1", "4", "9"}) {
    for (const std::string& command : commands) {
      expect_refused("ulimit -f " + blocks + "; " + command,
                     "cannot be written: File too large");
    }
  }
}

// As above, where the signal of the limit does not end the program.
TEST_F(Losses, AFullDiskDoesNotCrashWhatWritesArrays) {
  for (const std::string blocks : {"1", "2", "4", "8", "16", "32"}) {
    expect_refused("trap '' XFSZ; ulimit -f " + blocks +
                       "; tare run digits.onnx --data evaluation.h5 -o o.h5",
                   "o.h5: cannot be written: File too large");
    expect_refused("trap '' XFSZ; ulimit -f " + blocks +
                       "; tare calibrate digits.onnx --data calibration.h5 --samples 8 -o o.h5",
                   "o.h5: cannot be written: File too large");
  }
}

TEST_F(Losses, ADiskThatIsFullAtTheTableIsNamed) {
  expect_refused(
      "ulimit -f 2; tare quantize digits.onnx --data calibration.h5 --memory 1GiB -o q.onnx "
      "--table t.yaml",
      "t.yaml: cannot be written: File too large");
}

TEST_F(Losses, LongNamesAreTakenAsFarAsTheFileSystemDoes) {
  const std::string longest = std::string(252, 'n') + ".h5";  // 255 bytes
  succeed("tare run digits.onnx --data evaluation.h5 -o " + longest);
  EXPECT_GT(bytes(longest).size(), 1000U);
  const std::string too_long = "cannot be written: File name too long";
  expect_refused("tare run digits.onnx --data evaluation.h5 -o n" + longest, too_long);
  expect_refused("tare calibrate digits.onnx --data calibration.h5 -o " + longest, too_long);
  expect_refused(
      "tare search digits.onnx --data calibration.h5 --require 'output.sqnr>=1' -o " +
          std::string(250, 'n') + ".onnx",
      too_long);
}

TEST_F(Losses, ThreadsThatCannotBeMadeAreAnErrorOfTheSystem) {
  if (kIsSanitized) {
    GTEST_SKIP() << "a sanitizer ends the program when no thread can be made";
  }
  if (::geteuid() == 0 && run("command -v setpriv prlimit").status != 0) {
    GTEST_SKIP() << "root may have any number of threads, and there is no setpriv or prlimit";
  }
  std::filesystem::permissions(folder_, std::filesystem::perms::all);
  // A user of whom nobody else has processes, so that one thread more is one too many.
  const std::string as_user = ::geteuid() == 0 ? "setpriv --reuid=54321 --clear-groups " : "";
  if (run(as_user + "tare --version").status != 0) {
    GTEST_SKIP() << "another user may not run the program here";
  }
  expect_refused("exec prlimit --nproc=1 " + as_user +
                     "tare run digits.onnx --data evaluation.h5 -o o.h5 --threads 4",
                 "threads: cannot be made: pthread_create has failed: Resource temporarily "
                 "unavailable");
}

TEST_F(Losses, TooLittleAddressSpaceIsNotASilentEnd) {
  if (kIsSanitized) {
    GTEST_SKIP() << "a sanitizer needs more address space than there is memory";
  }
  // Below 105 MB the loader of the system gives up or libraries do, from 140 MB on there is
  // enough. Libraries fail in their own ways between, some of them by a signal.
  for (const std::string kibibytes : {"112000", "116000", "120000", "124000", "128000"}) {
    const Outcome outcome = run("ulimit -c 0; ulimit -v " + kibibytes +
                                "; tare run digits.onnx --data evaluation.h5 -o o.h5");
    EXPECT_TRUE(outcome.status == 2 || outcome.status == 70) << outcome.status;
    EXPECT_NE(outcome.err.find("tare: "), std::string::npos) << outcome.err;
  }
}

/// Sends the signal while the output is being written.
std::string signal_while_writing(const std::string& signal, const std::string& command) {
  return "ulimit -c 0; for attempt in $(seq 200); do\n" + command +
         " 2> words & program=$!\n"
         "while kill -0 $program 2> /dev/null && ! ls -A | grep -q '[.]part'; do :; done\n"
         "kill -s " +
         signal +
         " $program 2> /dev/null\n"
         "wait $program; status=$?\n"
         "[ $status -gt 128 ] && break\n"
         "done 2> /dev/null\n"
         "ls -A | grep '[.]part' >&2; rm -f words; exit $status";
}

TEST_F(Losses, ASignalLeavesNoUnfinishedFile) {
  for (const auto& [signal, number] : {std::pair("TERM", 15), std::pair("HUP", 1),
                                       std::pair("XCPU", 24), std::pair("SEGV", 11)}) {
    if (kIsSanitized && number == 11) {
      continue;  // which it takes for a fault of the program
    }
    const Outcome outcome = run(signal_while_writing(
        signal, "tare run digits.onnx --data evaluation.h5 --threads 1 -o o.h5"));
    EXPECT_EQ(outcome.status, 128 + number) << signal;
    EXPECT_EQ(outcome.err, "") << signal;
  }
}

TEST_F(Losses, AHangUpLeavesACheckpoint) {
  const std::string calibrate =
      "tare calibrate digits.onnx --data evaluation.h5 --threads 1 -o ";
  succeed(calibrate + "whole.h5");
  // Too early a signal finds a program that has seen nothing, too late a one none.
  const Outcome outcome =
      run("for wait in $(awk 'BEGIN {for (s = 0.02; s < 60; s *= 1.2) print s}'); do\n"
          "rm -f s.h5*; timeout --preserve-status -s HUP $wait " +
          calibrate +
          "s.h5 2> words; status=$?\n"
          "grep -q 'interrupted after [1-9]' words && break\n"
          "done; rm words; ls s.h5*; exit $status");
  EXPECT_EQ(outcome.status, 129);
  EXPECT_EQ(outcome.out, "s.h5.checkpoint\n");
  succeed(calibrate + "s.h5");
  EXPECT_TRUE(bytes("s.h5") == bytes("whole.h5"));
}

TEST_F(Losses, NohupIsObeyed) {
  const Outcome outcome =
      run("trap '' HUP; tare run digits.onnx --data evaluation.h5 --threads 1 -o o.h5 & "
          "program=$!; while kill -s HUP $program 2> /dev/null; do :; done; wait $program");
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_GT(bytes("o.h5").size(), 1000U);
}

TEST_F(Losses, OfTwoSearchesForOneOutputOneIsRefused) {
  const Outcome outcome =
      run("search() { tare search digits.onnx --data calibration.h5 --samples 48 --threads 1 "
          "-o z.onnx --require 'output.sqnr>=300'; }\n"
          "search > first 2> first.err & first=$!\n"
          "while kill -0 $first && ! [ -e z.onnx.checkpoint ]; do :; done\n"
          "search > second; second=$?\n"
          "wait $first; echo $? $second; cat first.err >&2");
  EXPECT_TRUE(outcome.out == "0 2\n" || outcome.out == "2 0\n") << outcome.out << outcome.err;
  EXPECT_NE(outcome.err.find("z.onnx.checkpoint: is in use by another search"),
            std::string::npos)
      << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "z.onnx.checkpoint"));
  EXPECT_GT(bytes("z.onnx").size(), 1000U);
}

}  // namespace
}  // namespace tare::test
