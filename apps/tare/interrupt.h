#pragma once

namespace tare::cli {

/// From now on a signal that ends the program removes its unfinished files first, whichever
/// signal it is but SIGKILL; and writing to a reader who has gone, or beyond the limit of a
/// file's size, fails with a reason instead of ending the program. Signals that whoever started
/// the program wants to be ignored, as nohup does, still are.
void handle_signals();

/// Thrown on the way out of work that cannot be stopped otherwise.
struct Interrupted {};

/// While it lives, SIGINT, SIGTERM and SIGHUP are remembered instead of ending the program. A
/// second one ends it at once.
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
