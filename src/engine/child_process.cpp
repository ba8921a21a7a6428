// Starts a command and talks to it through pipes. Every wait has a deadline, what it prints is
// bounded, and in the end its whole process group is killed: an engine may crash, hang or print
// nonsense without taking Tare with it.
#include "engine/child_process.h"

#include "tare/error.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tare {
namespace {

constexpr std::size_t kLongestOutput = std::size_t{64} << 20;  // samples of a long measurement
constexpr std::size_t kKeptErrors = 4096;

struct Pipe {
  int read = -1;
  int write = -1;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw Error(ErrorCode::kIo, "engine", std::string("no pipe: ") + std::strerror(errno));
  }
  return {ends[0], ends[1]};
}

void close_file(int& file) {
  if (file >= 0) {
    ::close(file);
    file = -1;
  }
}

[[noreturn]] void become(const std::string& command, const Pipe& input, const Pipe& output,
                         const Pipe& errors) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(input.read, STDIN_FILENO);
  ::dup2(output.write, STDOUT_FILENO);
  ::dup2(errors.write, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    std::signal(signal, SIG_DFL);
  }
  ::execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
  ::_exit(127);
}

std::string last_line(std::string text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
    text.pop_back();
  }
  const std::size_t start = text.find_last_of('\n');
  return start == std::string::npos ? text : text.substr(start + 1);
}

}  // namespace

ChildProcess::ChildProcess(const std::string& command) {
  const Pipe input = make_pipe();
  const Pipe output = make_pipe();
  const Pipe errors = make_pipe();
  child_ = ::fork();
  if (child_ == 0) {
    become(command, input, output, errors);
  }
  ::close(input.read);
  ::close(output.write);
  ::close(errors.write);
  input_ = input.write;
  output_ = output.read;
  errors_ = errors.read;
  if (child_ < 0) {
    const int error = errno;
    close_file(input_);
    close_file(output_);
    close_file(errors_);
    throw Error(ErrorCode::kIo, "engine", std::string("no process: ") + std::strerror(error));
  }
  ::setpgid(child_, child_);  // whoever of the two comes first
  ::fcntl(input_, F_SETFL, O_NONBLOCK);
  ::fcntl(output_, F_SETFL, O_NONBLOCK);
  ::fcntl(errors_, F_SETFL, O_NONBLOCK);
}

ChildProcess::~ChildProcess() {
  close_file(input_);
  ::kill(-child_, SIGKILL);
  if (!status_) {
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  close_file(output_);
  close_file(errors_);
}

bool ChildProcess::wait_for(short events, int file, Clock::time_point deadline) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) {
      failure_ = "did not answer in time";
      return false;
    }
    std::array<pollfd, 2> files{{{file, events, 0}, {errors_, POLLIN, 0}}};
    const int ready =
        ::poll(files.data(), files.size(), static_cast<int>(std::min<long long>(left, 1000)));
    if (ready < 0 && errno != EINTR) {
      failure_ = std::strerror(errno);
      return false;
    }
    if (ready > 0 && files[1].revents != 0) {
      drain_errors();
    }
    if (ready > 0 && files[0].revents != 0) {
      return true;
    }
  }
}

void ChildProcess::drain_errors() {
  std::array<char, 4096> part;
  for (;;) {
    const ssize_t count = errors_ < 0 ? 0 : ::read(errors_, part.data(), part.size());
    if (count == 0) {
      close_file(errors_);  // poll ignores it then
    }
    if (count <= 0) {
      return;
    }
    said_.append(part.data(), static_cast<std::size_t>(count));
    if (said_.size() > kKeptErrors) {
      said_.erase(0, said_.size() - kKeptErrors);
    }
  }
}

bool ChildProcess::write(std::string_view text, Clock::time_point deadline) {
  // A process that has ended gives an error instead of a signal.
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  struct sigaction before {};
  ::sigaction(SIGPIPE, &ignore, &before);
  bool is_written = true;
  while (is_written && !text.empty()) {
    const ssize_t count = ::write(input_, text.data(), text.size());
    if (count > 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (count < 0 && errno == EAGAIN) {
      is_written = wait_for(POLLOUT, input_, deadline);
    } else if (count < 0 && errno != EINTR) {
      failure_ = ending();
      is_written = false;
    }
  }
  ::sigaction(SIGPIPE, &before, nullptr);
  return is_written;
}

bool ChildProcess::fill(Clock::time_point deadline) {
  std::array<char, 65536> part;
  for (;;) {
    const ssize_t count = ::read(output_, part.data(), part.size());
    if (count > 0) {
      buffer_.append(part.data(), static_cast<std::size_t>(count));
      if (buffer_.size() > kLongestOutput) {
        failure_ = "printed more than " + std::to_string(kLongestOutput >> 20) + " MiB";
        return false;
      }
      return true;
    }
    if (count == 0) {
      failure_ = ending();
      return false;
    }
    if (errno != EAGAIN && errno != EINTR) {
      failure_ = std::strerror(errno);
      return false;
    }
    if (!wait_for(POLLIN, output_, deadline)) {
      return false;
    }
  }
}

std::optional<std::string> ChildProcess::read_line(Clock::time_point deadline) {
  std::size_t searched = 0;
  for (;;) {
    const std::size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return line;
    }
    searched = buffer_.size();
    if (!fill(deadline)) {
      return std::nullopt;
    }
  }
}

std::optional<std::string> ChildProcess::read_all(Clock::time_point deadline) {
  close_file(input_);
  while (fill(deadline)) {
  }
  if (!status_ || *status_ != 0) {
    return std::nullopt;
  }
  return std::move(buffer_);
}

/// It has closed its output, so it ends in a moment.
std::string ChildProcess::ending() {
  constexpr int kTries = 50;
  for (int i = 0; i < kTries && !status_; ++i) {
    int status = 0;
    const pid_t ended = ::waitpid(child_, &status, WNOHANG);
    if (ended == child_ || (ended < 0 && errno != EINTR)) {
      status_ = status;
    } else {
      ::usleep(10'000);
    }
  }
  drain_errors();
  if (!status_) {
    return "closed its output";
  }
  return WIFSIGNALED(*status_)
             ? std::string("was ended by signal ") + std::to_string(WTERMSIG(*status_))
             : "ended with status " + std::to_string(WEXITSTATUS(*status_));
}

std::string ChildProcess::failure() {
  drain_errors();
  const std::string last = last_line(said_);
  return last.empty() ? failure_ : failure_ + ": " + last;
}

}  // namespace tare
