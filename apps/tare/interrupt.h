#pragma once

namespace tare::cli {

/// Thrown on the way out of work that cannot be stopped otherwise.
struct Interrupted {};

/// While it lives, SIGINT and SIGTERM are remembered instead of ending the program. A second
/// one ends it at once.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  static bool requested();
  /// Throws Interrupted when it was requested.
  static void check();
  /// Exit status by which a shell sees that a signal ended the program.
  static int exit_status();
};

}  // namespace tare::cli
