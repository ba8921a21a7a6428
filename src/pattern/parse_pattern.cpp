// Patterns as text, "Relu(Conv(any, constant))", by recursive descent. Depth is bounded, as it
// comes from a file.
#include "tare/error.h"
#include "tare/graph.h"
#include "tare/pattern.h"

#include "pattern/pattern_text.h"

#include <cctype>
#include <string>
#include <utility>

namespace tare {
namespace {

class PatternParser {
 public:
  explicit PatternParser(std::string_view text) : text_(text) {}

  Pattern parse() {
    if (take('@')) {
      fail("an operator that is matched, not only context");
    }
    Pattern result = operand();
    if (at_ < text_.size()) {
      fail("end of the pattern, ',' or ')'");
    }
    if (result.root_ops().empty()) {
      at_ = 0;
      fail("the name of an operator");
    }
    return result;
  }

 private:
  Pattern operand() {
    constexpr std::size_t kDeepest = 100;
    if (++depth_ > kDeepest) {
      fail("at most 100 levels");
    }
    const bool is_context = take('@');
    std::vector<std::string> names{name()};
    while (take('|')) {
      names.push_back(name());
    }
    Pattern result = [&] {
      if (names.size() == 1 && !is_context) {
        if (names[0] == "any") {
          return any();
        }
        if (names[0] == "constant") {
          return constant();
        }
        if (names[0] == "computed") {
          return any().where_value([](const Graph& graph, ValueId value) {
            return graph.constant(value) == nullptr;
          });
        }
      }
      return node(names, is_context);
    }();
    --depth_;
    return result;
  }

  Pattern node(const std::vector<std::string>& names, bool is_context) {
    const bool may_be_missing = take('?');
    std::vector<Pattern> operands;
    if (take('(')) {
      do {
        operands.push_back(operand());
      } while (take(','));
      if (!take(')')) {
        fail("',' or ')'");
      }
    }
    if (may_be_missing && operands.empty()) {
      fail("operands of what may be missing");
    }
    Pattern result = op_of(names);
    if (operands.size() == 2 && commutes(names)) {
      result = result.with_operands(operands, true);
    } else if (!operands.empty()) {
      result = result.with_operands(operands).with_more();
    }
    if (is_context) {
      result = result.context();
    }
    return may_be_missing ? result | operands[0] : result;
  }

  static bool commutes(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (name != "Add" && name != "Mul") {
        return false;
      }
    }
    return true;
  }

  std::string name() {
    skip_spaces();
    const std::size_t start = at_;
    while (at_ < text_.size() && std::isalnum(static_cast<unsigned char>(text_[at_])) != 0) {
      ++at_;
    }
    if (start == at_) {
      fail("the name of an operator");
    }
    return std::string(text_.substr(start, at_ - start));
  }

  bool take(char wanted) {
    skip_spaces();
    if (at_ < text_.size() && text_[at_] == wanted) {
      ++at_;
      skip_spaces();
      return true;
    }
    return false;
  }

  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') {
      ++at_;
    }
  }

  [[noreturn]] void fail(const std::string& expected) const {
    throw Error(ErrorCode::kInvalidConfig, "pattern '" + std::string(text_) + "'",
                "cannot be read at character " + std::to_string(at_ + 1))
        .expected(expected);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
};

}  // namespace

Pattern parse_pattern(std::string_view text) {
  return PatternParser(text).parse();
}

bool is_pattern(std::string_view text) try {
  static_cast<void>(parse_pattern(text));
  return true;
} catch (const Error&) {
  return false;
}

}  // namespace tare
