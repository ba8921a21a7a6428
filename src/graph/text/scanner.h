#pragma once

#include "graph/text/literal.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tare {

/// True when `name` may stand in the textual IR without quotes.
bool is_bare_name(std::string_view name);
/// The name itself when it is bare, else quoted.
std::string written_name(std::string_view name);
/// "text" with ", \ and control characters escaped; other bytes stand for themselves.
std::string in_quotes(std::string_view text);

enum class NumberKind : std::uint8_t { kNone, kInteger, kReal };

/// Cuts textual IR into names, literals and symbols. Blanks and comments (# to the end of the
/// line) are skipped before each. What is not there throws Error(kInvalidModel) with its
/// line:column; columns count bytes.
class Scanner {
 public:
  explicit Scanner(std::string_view text);

  /// Offset of the next token.
  std::size_t position();
  bool at_end() { return position() == text_.size(); }
  /// The next character; 0 at the end.
  char peek();
  bool accept(std::string_view symbol);
  void expect(std::string_view symbol);
  /// A bare name that is exactly `word`.
  bool accept_word(std::string_view word);
  /// True when a name and then `symbol` come next; takes neither.
  bool at_name_before(std::string_view symbol);
  /// Reals show themselves by a point, an exponent, `inf` or `nan`.
  NumberKind number_kind();
  /// A bare or a quoted name; `what` says in messages which one.
  std::string name(std::string_view what);
  std::string quoted_text(std::string_view what);
  template <class T>
  T literal(std::string_view what) {
    T value{};
    const std::size_t start = position();
    if (!parse_literal(literal_run(), value)) {
      next_ = start;
      fail_expected(what);
    }
    return value;
  }

  /// "line:column" of an offset.
  std::string place(std::size_t offset) const;
  /// "found ..., expected <what>" at the next token.
  [[noreturn]] void fail_expected(std::string_view what);

 private:
  std::string_view bare_run() const;
  /// Everything up to a character that no literal holds.
  std::string_view literal_run();
  char escaped();

  std::string_view text_;
  std::vector<std::size_t> lines_;  ///< where each begins; parsing asks for many places
  std::size_t next_ = 0;
};

}  // namespace tare
