#include "interrupt.h"

#include "tare/process.h"

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

namespace tare::cli {
namespace {

/// By which users and systems stop a program.
constexpr std::array kRequests{SIGINT, SIGTERM, SIGHUP};
/// What else ends one: limits, and faults of its own.
constexpr std::array kEnds{SIGQUIT, SIGXCPU, SIGALRM, SIGVTALRM, SIGPROF, SIGUSR1, SIGUSR2,
                           SIGSEGV, SIGBUS,  SIGABRT, SIGFPE,    SIGILL,  SIGSYS,  SIGTRAP};

// What a signal handler may write to.
std::atomic<int> received = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may not wait");

/// oneDNN writes code to memory that it did not get, where the address space is limited.
bool is_out_of_memory() {
  constexpr std::size_t kLittle = 1 << 20;
  void* memory =
      mmap(nullptr, kLittle, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return true;
  }
  munmap(memory, kLittle);
  return false;
}

extern "C" void clean_up_and_end(int signal) {
  remove_unfinished_files();
  if ((signal == SIGSEGV || signal == SIGABRT) && is_out_of_memory()) {
    constexpr std::string_view kWords =
        "tare: error: out of memory\n  hint: 'ulimit -v' may limit it\n";
    if (write(STDERR_FILENO, kWords.data(), kWords.size()) > 0) {
      _exit(2);
    }
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

extern "C" void remember(int signal) {
  received = signal;
  std::signal(signal, clean_up_and_end);
}

using Handler = void (*)(int);

/// Of a signal that nobody else has taken.
void replace(int signal, Handler present, Handler next) {
  struct sigaction action {};
  if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == present) {
    action = {};
    action.sa_handler = next;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    sigaction(signal, &action, nullptr);
  }
}

/// A stack that has overflowed cannot run the handler.
void use_another_stack() {
  static std::array<char, 1 << 16> memory;
  stack_t stack{};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  sigaltstack(&stack, nullptr);
}

}  // namespace

void handle_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  use_another_stack();
  for (const int signal : kRequests) {
    replace(signal, SIG_DFL, clean_up_and_end);
  }
  for (const int signal : kEnds) {
    replace(signal, SIG_DFL, clean_up_and_end);
  }
}

Interrupt::Interrupt() {
  received = 0;
  for (const int signal : kRequests) {
    replace(signal, clean_up_and_end, remember);
  }
}

Interrupt::~Interrupt() {
  for (const int signal : kRequests) {
    replace(signal, remember, clean_up_and_end);
  }
}

bool Interrupt::requested() {
  return received != 0;
}

void Interrupt::check() {
  if (requested()) {
    throw Interrupted{};
  }
}

int Interrupt::exit_status() {
  return 128 + received;
}

}  // namespace tare::cli
