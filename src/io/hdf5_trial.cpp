// Reads a file in a child process first, since HDF5 1.10 crashes on some damaged files
// (docs/decisions/0023-damaged-hdf5-files-are-tried-in-a-copy.md). The child has the same heap
// and makes the same calls, so the parent finds the memory that the child survived. It takes 2
// ms for an ordinary file and 0.05 s more for each GB that the process holds.
#include "io/hdf5_trial.h"

#include "tare/error.h"

#include <array>
#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tare::hdf5 {
namespace {

constexpr unsigned kSecondsForDisks = 50;

/// How the child ends when the library fails, and by the alarm.
constexpr std::array kDeaths{SIGSEGV, SIGBUS,  SIGABRT, SIGFPE,
                             SIGILL,  SIGTRAP, SIGXCPU, SIGALRM};

/// Handlers of the process are not for the child, and a user who interrupts both shall not be
/// told of a damaged file.
void take_over_signals() {
  sigset_t blocked;
  sigfillset(&blocked);
  for (const int death : kDeaths) {
    std::signal(death, SIG_DFL);
    sigdelset(&blocked, death);
  }
  sigprocmask(SIG_SETMASK, &blocked, nullptr);
}

/// No dump and no message of the C library: the error says it.
void be_silent() {
  prctl(PR_SET_DUMPABLE, 0);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) {
    dup2(nowhere, STDERR_FILENO);
  }
}

[[noreturn]] void run_child(const std::function<void()>& reading, unsigned seconds) noexcept {
  take_over_signals();
  be_silent();
  const rlimit limit{seconds, seconds + 1};
  setrlimit(RLIMIT_CPU, &limit);
  alarm(seconds + kSecondsForDisks);
  try {
    reading();
  } catch (...) {  // NOLINT(bugprone-empty-catch): the reading that counts throws it again
  }
  _exit(0);
}

bool has_failed(int status) {
  return WIFSIGNALED(status) ? WTERMSIG(status) != SIGALRM : WEXITSTATUS(status) != 0;
}

}  // namespace

void try_in_child(const std::function<void()>& reading, unsigned seconds) {
  const pid_t child = fork();
  if (child == 0) {
    run_child(reading, seconds);
  }
  // Where the process may have no more children, or somebody else takes their status, there is
  // no answer, and the file is read all the same.
  if (child < 0) {
    return;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      return;
    }
  }
  if (has_failed(status)) {
    throw Error(ErrorCode::kInvalidData, "",
                "is damaged in a way that the HDF5 library does not survive");
  }
}

}  // namespace tare::hdf5
