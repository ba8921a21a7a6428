#pragma once

#include <string_view>

namespace tare::cli {

/// The reader of stdout has gone: it has what it wanted, so this is success.
struct BrokenPipe {};

/// Results go to stdout, everything else to stderr, as printable_lines(): what a terminal would
/// obey is spelled out. Names are to be printable() too, as they may hold line feeds.
class Console {
 public:
  explicit Console(bool quiet) : quiet_(quiet) {}

  /// Writes a result. Throws BrokenPipe, or Error(kIo) when stdout cannot be written.
  void print(std::string_view text) const;
  /// Words for people, unless they asked for none.
  void say(std::string_view text) const;
  /// What may be wrong, whoever asked for no other words.
  void warn(std::string_view text) const;
  bool is_quiet() const { return quiet_; }
  /// True when stderr is a terminal and --quiet was not given.
  bool shows_progress() const;

 private:
  bool quiet_;
};

}  // namespace tare::cli
