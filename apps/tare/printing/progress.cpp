#include "printing/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

namespace tare::cli {
namespace {

constexpr std::chrono::milliseconds kInterval{100};
constexpr std::size_t kWidth = 20;
constexpr const char* kClearLine = "\r\x1b[K";

}  // namespace

std::string progress_line(const std::string& activity, const std::string& unit,
                          std::size_t done, std::size_t total, double seconds) {
  const double share = total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total);
  const auto filled = std::min(static_cast<std::size_t>(share * kWidth), kWidth);
  std::string line = fmt::format("{} {:3.0f} % [{}{}]", activity, share * 100,
                                 std::string(filled, '#'), std::string(kWidth - filled, ' '));
  if (done > 0 && seconds > 0) {
    const double rate = static_cast<double>(done) / seconds;
    const long left = std::lround(static_cast<double>(total - done) / rate);
    if (!unit.empty()) {
      line += fmt::format(" {:.{}f} {}/s", rate, rate < 10 ? 1 : 0, unit);
    }
    line += fmt::format(" {}:{:02} left", left / 60, left % 60);
  }
  return line;
}

Progress::Progress(const Console& console, std::string activity, std::string unit)
    : shown_(console.shows_progress()),
      activity_(std::move(activity)),
      unit_(std::move(unit)),
      columns_(console.err().columns),
      start_(Clock::now()),
      next_(start_) {}

Progress::~Progress() {
  end();
}

void Progress::end() {
  if (shown_) {
    std::fputs(kClearLine, stderr);
    shown_ = false;
  }
}

void Progress::update(std::size_t done, std::size_t total) {
  const Clock::time_point now = Clock::now();
  if (!shown_ || now < next_) {
    return;
  }
  next_ = now + kInterval;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  // What does not fit the line would stay behind when it is cleared.
  const std::string line =
      progress_line(activity_, unit_, done, total, seconds).substr(0, columns_ - 1);
  std::fputs((kClearLine + line).c_str(), stderr);
}

std::function<void(std::size_t, std::size_t)> Progress::callback() {
  if (!shown_) {
    return {};
  }
  return [this](std::size_t done, std::size_t total) { update(done, total); };
}

}  // namespace tare::cli
