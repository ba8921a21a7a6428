#pragma once

#include "printing/console.h"

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

namespace tare::cli {

/// A bar on the terminal while samples are worked on; the line is cleared in the end.
class Progress {
 public:
  /// `unit` is what is worked on, "samples"; empty: nothing that is counted.
  Progress(const Console& console, std::string activity, std::string unit = "samples");
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::size_t done, std::size_t total);
  /// Clears the line for other words; nothing is drawn any more.
  void end();
  /// update(), for the library; empty where no bar is wanted. The object must outlive it.
  std::function<void(std::size_t done, std::size_t total)> callback();

 private:
  using Clock = std::chrono::steady_clock;

  bool shown_;
  std::string activity_;
  std::string unit_;
  std::size_t columns_;  ///< of the terminal
  Clock::time_point start_;
  Clock::time_point next_;  ///< not drawn before
};

/// "quantizing   42 % [########            ] 118 samples/s 0:12 left"; `seconds` since the
/// start.
std::string progress_line(const std::string& activity, const std::string& unit,
                          std::size_t done, std::size_t total, double seconds);

}  // namespace tare::cli
