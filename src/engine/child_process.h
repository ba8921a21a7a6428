#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace tare {

/// A command of the user's in a process group of its own, talked to by lines. Whatever it does,
/// nobody waits for it longer than until a deadline, and destroying this ends all of it.
class ChildProcess {
 public:
  using Clock = std::chrono::steady_clock;

  /// `command` is for the shell. Throws Error(kIo) where no process can be made.
  explicit ChildProcess(const std::string& command);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// False when the process has ended, or does not take it in time.
  bool write(std::string_view text, Clock::time_point deadline);
  /// One line without its end; nothing when the process closes its output, says nothing in
  /// time, or says more than is sensible.
  std::optional<std::string> read_line(Clock::time_point deadline);
  /// All that it prints until it ends; nothing when that takes too long, or when it fails.
  std::optional<std::string> read_all(Clock::time_point deadline);

  /// Why the last call gave nothing, with the last line of its error output: "ended with status
  /// 1: No module named 'onnxruntime'".
  std::string failure();

 private:
  bool fill(Clock::time_point deadline);
  bool wait_for(short events, int file, Clock::time_point deadline);
  void drain_errors();
  std::string ending();

  pid_t child_ = -1;
  int input_ = -1;
  int output_ = -1;
  int errors_ = -1;
  std::string buffer_;
  std::string said_;  ///< the end of its error output
  std::string failure_;
  std::optional<int> status_;
};

}  // namespace tare
