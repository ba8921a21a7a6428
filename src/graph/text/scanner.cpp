#include "graph/text/scanner.h"

#include "tare/error.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace tare {
namespace {

// Not std::isalnum: the text means the same whatever the locale.
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool starts_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
         c == '/';
}

bool continues_name(char c) {
  return starts_name(c) || c == '.' || c == '-';
}

}  // namespace

bool is_bare_name(std::string_view name) {
  // A lone underscore stands for what is absent.
  return !name.empty() && name != "_" && starts_name(name.front()) &&
         std::all_of(name.begin(), name.end(), continues_name);
}

std::string written_name(std::string_view name) {
  return is_bare_name(name) ? std::string(name) : in_quotes(name);
}

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '\n') {
      result += "\\n";
    } else {
      result += c == '"' || c == '\\' ? "\\" : "";
      result += c;
    }
  }
  return printable_bytes(result) + '"';
}

Scanner::Scanner(std::string_view text) : text_(text), lines_{0} {
  for (std::size_t end = text.find('\n'); end != std::string_view::npos;
       end = text.find('\n', end + 1)) {
    lines_.push_back(end + 1);
  }
}

std::size_t Scanner::position() {
  while (next_ < text_.size()) {
    const char c = text_[next_];
    if (c == '#') {
      next_ = std::min(text_.find('\n', next_), text_.size());
    } else if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++next_;
    } else {
      break;
    }
  }
  return next_;
}

char Scanner::peek() {
  return at_end() ? '\0' : text_[next_];
}

bool Scanner::accept(std::string_view symbol) {
  position();
  if (!text_.substr(next_).starts_with(symbol)) {
    return false;
  }
  next_ += symbol.size();
  return true;
}

void Scanner::expect(std::string_view symbol) {
  if (!accept(symbol)) {
    fail_expected("'" + std::string(symbol) + "'");
  }
}

std::string_view Scanner::bare_run() const {
  std::size_t end = next_;
  if (end < text_.size() && starts_name(text_[end])) {
    while (end < text_.size() && continues_name(text_[end])) {
      ++end;
    }
  }
  return text_.substr(next_, end - next_);
}

bool Scanner::accept_word(std::string_view word) {
  position();
  if (bare_run() != word) {
    return false;
  }
  next_ += word.size();
  return true;
}

bool Scanner::at_name_before(std::string_view symbol) {
  const std::size_t start = position();
  if (peek() == '"') {
    quoted_text({});
  } else {
    next_ += bare_run().size();
  }
  const bool yes = next_ != start && accept(symbol);
  next_ = start;
  return yes;
}

NumberKind Scanner::number_kind() {
  const std::size_t start = position();
  const std::string_view run = literal_run();
  next_ = start;
  if (run == "inf" || run.starts_with("nan")) {
    return NumberKind::kReal;
  }
  if (run.empty() || (run.front() != '-' && !is_digit(run.front()))) {
    return NumberKind::kNone;
  }
  return run.find_first_of(".en") == run.npos ? NumberKind::kInteger : NumberKind::kReal;
}

std::string Scanner::name(std::string_view what) {
  if (peek() == '"') {
    return quoted_text(what);
  }
  const std::string_view run = bare_run();
  if (!is_bare_name(run)) {
    fail_expected(what);
  }
  next_ += run.size();
  return std::string(run);
}

std::string Scanner::quoted_text(std::string_view what) {
  if (peek() != '"') {
    fail_expected(what);
  }
  const std::size_t start = next_;
  std::string result;
  for (++next_; next_ < text_.size() && text_[next_] != '"';) {
    const char c = text_[next_++];
    result += c == '\\' ? escaped() : c;
  }
  if (next_ == text_.size()) {
    throw Error(ErrorCode::kInvalidModel, place(start), "this quote is never closed");
  }
  ++next_;
  return result;
}

char Scanner::escaped() {
  const std::size_t start = next_ - 1;
  const std::string_view rest = text_.substr(next_);
  if (rest.starts_with('"') || rest.starts_with('\\')) {
    return text_[next_++];
  }
  if (rest.starts_with('n')) {
    ++next_;
    return '\n';
  }
  unsigned byte = 0;
  if (rest.size() >= 3 && rest.front() == 'x') {
    const char* digits = rest.data() + 1;
    if (std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
      next_ += 3;
      return static_cast<char>(byte);
    }
  }
  throw Error(ErrorCode::kInvalidModel, place(start), "unknown escape")
      .expected(R"(\", \\, \n or \x and two hexadecimal digits)");
}

std::string_view Scanner::literal_run() {
  const std::size_t start = next_;
  while (next_ < text_.size() && (continues_name(text_[next_]) || text_[next_] == '+')) {
    ++next_;
  }
  if (text_.substr(start, next_ - start) == "nan" && text_.substr(next_).starts_with('(')) {
    next_ = std::min(text_.find(')', next_), text_.size() - 1) + 1;
  }
  return text_.substr(start, next_ - start);
}

std::string Scanner::place(std::size_t offset) const {
  const auto next_line = std::upper_bound(lines_.begin(), lines_.end(), offset);
  return std::to_string(next_line - lines_.begin()) + ":" +
         std::to_string(offset - *std::prev(next_line) + 1);
}

void Scanner::fail_expected(std::string_view what) {
  const std::size_t start = position();
  if (text_.substr(start).starts_with("...")) {
    throw Error(ErrorCode::kInvalidModel, place(start), "values are elided here")
        .hint("text with elided values is for people; print the graph in full");
  }
  constexpr std::size_t kShown = 32;
  std::string found = "the end of the text";
  if (!at_end()) {
    const std::size_t length = std::max<std::size_t>(literal_run().size(), 1);
    found = in_quotes(text_.substr(start, std::min(length, kShown)));
  }
  throw Error(ErrorCode::kInvalidModel, place(start), "found " + found).expected(what);
}

}  // namespace tare
