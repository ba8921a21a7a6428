#include "interrupt.h"

#include <atomic>
#include <csignal>

namespace tare::cli {
namespace {

// What a signal handler may write to.
std::atomic<int> received = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may not wait");

extern "C" void remember(int signal) {
  received = signal;
  std::signal(signal, SIG_DFL);
}

}  // namespace

Interrupt::Interrupt() {
  received = 0;
  std::signal(SIGINT, remember);
  std::signal(SIGTERM, remember);
}

Interrupt::~Interrupt() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
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
