#pragma once

namespace tare::cli {

/// While it lives, SIGINT and SIGTERM are remembered instead of ending the program. A second
/// one ends it at once.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  static bool requested();
  /// Exit status by which a shell sees that a signal ended the program.
  static int exit_status();
};

}  // namespace tare::cli
