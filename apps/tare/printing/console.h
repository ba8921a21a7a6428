#pragma once

#include "printing/terminal.h"

#include <string_view>

namespace tare::cli {

/// The reader of stdout has gone: it has what it wanted, so this is success.
struct BrokenPipe {};

/// Who reads what is said.
enum class Audience {
  kPeople,
  kPrograms,  ///< no styles or widths of terminals, whatever the streams are
  kNobody,    ///< the same, and results, warnings and errors only
  kOthers,    ///< nothing but errors: another process that does the same says all else
};

/// Results go to stdout, everything else to stderr, as Terminal::shown(): what a terminal would
/// obey is spelled out. Names are to be printable() too, as they may hold line feeds.
class Console {
 public:
  explicit Console(Audience);

  /// Writes a result. Throws BrokenPipe, or Error(kIo) when stdout cannot be written.
  void print(std::string_view text) const;
  /// Words for people, unless they asked for none.
  void say(std::string_view text) const;
  /// What may be wrong, whoever asked for no other words.
  void warn(std::string_view text) const;
  bool is_quiet() const {
    return audience_ == Audience::kNobody || audience_ == Audience::kOthers;
  }
  /// True when stderr is a terminal on which lines can be cleared, and --quiet was not given.
  bool shows_progress() const;

  /// How print() shows text.
  const Terminal& out() const { return out_; }
  /// How say() and warn() do.
  const Terminal& err() const { return err_; }

 private:
  Audience audience_;
  Terminal out_;
  Terminal err_;
};

}  // namespace tare::cli
