#include "printing/console.h"

#include "tare/error.h"

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

#include <unistd.h>

namespace tare::cli {

Console::Console(Audience audience) : audience_(audience) {
  if (audience == Audience::kPeople) {
    out_ = terminal_of(STDOUT_FILENO);
    err_ = terminal_of(STDERR_FILENO);
  }
}

void Console::print(std::string_view result) const {
  if (audience_ == Audience::kOthers) {
    return;
  }
  const std::string text = out_.shown(result);
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
  if (!is_quiet()) {
    warn(words);
  }
}

void Console::warn(std::string_view words) const {
  if (audience_ == Audience::kOthers) {
    return;
  }
  const std::string text = err_.shown(words);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

bool Console::shows_progress() const {
  return !is_quiet() && can_clear_lines(STDERR_FILENO);
}

}  // namespace tare::cli
