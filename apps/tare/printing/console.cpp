#include "printing/console.h"

#include "tare/error.h"

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

#include <unistd.h>

namespace tare::cli {

void Console::print(std::string_view result) const {
  const std::string text = printable_lines(result);
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
      std::fflush(stdout) == 0) {
    return;
  }
  if (errno == EPIPE) {
    throw BrokenPipe();
  }
  throw Error(ErrorCode::kIo, "standard output",
              "cannot be written: " + std::generic_category().message(errno));
}

void Console::say(std::string_view words) const {
  if (!quiet_) {
    const std::string text = printable_lines(words);
    std::fwrite(text.data(), 1, text.size(), stderr);
  }
}

void Console::warn(std::string_view words) const {
  const std::string text = printable_lines(words);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

bool Console::shows_progress() const {
  return !quiet_ && ::isatty(STDERR_FILENO) != 0;
}

}  // namespace tare::cli
