#include "io/config_rules.h"

#include "tare/config.h"
#include "tare/error.h"

#include "pattern/pattern_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

namespace tare {
namespace {

/// The whole of an unquoted scalar as a number.
template <class T>
bool read_number(const YamlNode& node, T& value) {
  if (node.kind != YamlNode::Kind::kScalar || node.quoted) {
    return false;
  }
  const char* end = node.text.data() + node.text.size();
  const auto [rest, error] = std::from_chars(node.text.data(), end, value);
  return error == std::errc{} && rest == end;
}

}  // namespace

std::string alternatives(const std::vector<std::string>& names) {
  std::string result;
  for (std::size_t i = 0; i < names.size(); ++i) {
    result += i == 0 ? "" : i + 1 == names.size() ? " or " : ", ";
    result += names[i];
  }
  return result;
}

Rule<bool> truth() {
  return {.expected = "true or false", .read = [](const YamlNode& node, bool& value) {
            value = node.text == "true";
            return !node.quoted && (value || node.text == "false");
          }};
}

Rule<std::string> any_text(std::string example) {
  return {.expected = "a text",
          .read =
              [](const YamlNode& node, std::string& value) {
                value = node.text;
                return node.kind == YamlNode::Kind::kScalar && !value.empty();
              },
          .example = std::move(example)};
}

Rule<std::string> pattern_text() {
  return {.expected = "a pattern such as MatMul(Softmax, any)",
          .read =
              [](const YamlNode& node, std::string& value) {
                value = node.text;
                return node.kind == YamlNode::Kind::kScalar && is_pattern(value);
              },
          .example = "MatMul(Softmax, any)"};
}

Rule<std::string> known_name(std::string noun, std::vector<std::string> names) {
  Rule<std::string> rule{
      .expected = alternatives(names), .names = names, .noun = std::move(noun)};
  rule.read = [names = std::move(names)](const YamlNode& node, std::string& value) {
    value = node.text;
    return node.kind == YamlNode::Kind::kScalar &&
           std::find(names.begin(), names.end(), value) != names.end();
  };
  return rule;
}

Rule<std::string> target_name(std::vector<std::string> names) {
  Rule<std::string> rule{.expected = alternatives(names) + ", or the path of a target file",
                         .names = names,
                         .noun = "target"};
  rule.read = [names = std::move(names)](const YamlNode& node, std::string& value) {
    value = node.text;
    return node.kind == YamlNode::Kind::kScalar &&
           (is_target_file(value) ||
            std::find(names.begin(), names.end(), value) != names.end());
  };
  return rule;
}

Rule<double> cost() {
  return {.expected = "a number of at least 0",
          .read = [](const YamlNode& node, double& value) {
            return number().read(node, value) && value >= 0;
          }};
}

Rule<double> number() {
  return {.expected = "a number", .read = [](const YamlNode& node, double& value) {
            return read_number(node, value) && std::isfinite(value);
          }};
}

Rule<std::optional<double>> share_or_auto() {
  return {.expected = "auto, or a number of at least 0",
          .read = [](const YamlNode& node, std::optional<double>& value) {
            double share = 0;
            if (node.kind == YamlNode::Kind::kScalar && node.text == "auto") {
              value.reset();
              return true;
            }
            const bool fits = read_number(node, share) && std::isfinite(share) && share >= 0;
            value = share;
            return fits;
          }};
}

Rule<float> real() {
  return {.expected = "a number", .read = [](const YamlNode& node, float& value) {
            return read_number(node, value) && std::isfinite(value);
          }};
}

Rule<float> positive() {
  return {.expected = "a number above 0", .read = [](const YamlNode& node, float& value) {
            return real().read(node, value) && value > 0;
          }};
}

Rule<float> fraction() {
  return {.expected = "a number above 0, or a quotient such as 1/255",
          .read =
              [](const YamlNode& node, float& value) {
                const std::size_t slash = node.text.find('/');
                if (slash == std::string::npos) {
                  return positive().read(node, value);
                }
                YamlNode above = node;
                above.quoted = false;  // in JSON a quotient has to be
                YamlNode below = above;
                above.text.resize(slash);
                below.text.erase(0, slash + 1);
                double numerator = 0;
                double denominator = 0;
                if (!read_number(above, numerator) || !read_number(below, denominator)) {
                  return false;
                }
                value = static_cast<float>(numerator / denominator);
                return std::isfinite(value) && value > 0;
              },
          .example = "1/255"};
}

Rule<std::int64_t> integer(std::int64_t low, std::int64_t high) {
  std::string expected = "an integer of at least " + std::to_string(low);
  if (low == high) {
    expected = std::to_string(low);
  } else if (high != std::numeric_limits<std::int64_t>::max()) {
    expected = "an integer in [" + std::to_string(low) + "," + std::to_string(high) + "]";
  }
  return {.expected = std::move(expected),
          .read = [low, high](const YamlNode& node, std::int64_t& value) {
            return read_number(node, value) && value >= low && value <= high;
          }};
}

namespace {

/// Below 0 integers count from the end, where `from_end`.
bool read_range(const YamlNode& node, bool from_end, std::optional<IntegerRange>& value) {
  const auto read = [&](std::string_view text, std::int64_t& end) {
    const char* last = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), last, end);
    return error == std::errc{} && rest == last && (from_end || end >= 0);
  };
  if (node.kind != YamlNode::Kind::kScalar || node.text.empty()) {
    return false;
  }
  IntegerRange range;
  const std::string_view text = node.text;
  const std::size_t dots = text.find("..");
  bool fits = true;
  if (dots == std::string_view::npos) {
    fits = read(text, range.low);
    range.high = range.low;
  } else {
    const std::string_view low = text.substr(0, dots);
    const std::string_view high = text.substr(dots + 2);
    fits = (!low.empty() || !high.empty()) && (low.empty() || read(low, range.low)) &&
           (high.empty() || read(high, range.high));
    if (high.empty() && range.low < 0) {
      range.high = -1;
    }
    fits = fits && range.low <= range.high;
  }
  value = range;
  return fits;
}

}  // namespace

Rule<std::optional<IntegerRange>> integer_range() {
  return {
      .expected = "an integer, or a range such as 2.., ..16 or 4..8",
      .read = [](const YamlNode& node, auto& value) { return read_range(node, false, value); },
      .example = "2.."};
}

Rule<std::optional<IntegerRange>> place_range() {
  return {
      .expected = "an integer, or a range such as 2.., ..16, 4..8 or -1..0",
      .read = [](const YamlNode& node, auto& value) { return read_range(node, true, value); },
      .example = "2.."};
}

Rule<std::int64_t> integer_or(std::string word, std::int64_t meaning, std::int64_t low) {
  const Rule<std::int64_t> number = integer(low);
  return {.expected = word + ", or " + number.expected,
          .read = [number, word, meaning](const YamlNode& node, std::int64_t& value) {
            if (node.kind == YamlNode::Kind::kScalar && node.text == word) {
              value = meaning;
              return true;
            }
            return number.read(node, value);
          }};
}

Rule<std::optional<std::int64_t>> count_or_all() {
  const Rule<std::int64_t> count = integer(1);
  return {.expected = "all, or " + count.expected,
          .read = [count](const YamlNode& node, std::optional<std::int64_t>& value) {
            if (node.kind == YamlNode::Kind::kScalar && node.text == "all") {
              value.reset();
              return true;
            }
            std::int64_t limit = 0;
            const bool is_count = count.read(node, limit);
            value = limit;
            return is_count;
          }};
}

Rule<std::optional<int>> integer_or_auto(int low, int high) {
  const Rule<std::int64_t> number = integer(low, high);
  return {.expected = "auto, or " + number.expected,
          .read = [number](const YamlNode& node, std::optional<int>& value) {
            if (node.kind == YamlNode::Kind::kScalar && node.text == "auto") {
              value.reset();
              return true;
            }
            std::int64_t read = 0;
            const bool fits = number.read(node, read);
            value = static_cast<int>(read);
            return fits;
          }};
}

namespace {

/// 1 for "B"; 1024 for "KiB", 1000 for "KB" or "kB" and so on; nothing for other texts.
std::optional<std::size_t> unit_bytes(std::string_view unit) {
  if (unit == "B") {
    return 1;
  }
  if (unit == "kB") {
    return 1000;
  }
  const std::size_t power = std::string_view(" KMG").find(unit.substr(0, 1));
  const std::string_view rest = unit.substr(std::min<std::size_t>(1, unit.size()));
  if (unit.empty() || power == 0 || power == std::string_view::npos ||
      (rest != "iB" && rest != "B")) {
    return std::nullopt;
  }
  std::size_t result = 1;
  for (std::size_t i = 0; i < power; ++i) {
    result *= rest == "iB" ? 1024 : 1000;
  }
  return result;
}

/// Takes ".5" off the front of a text; 0 where it begins with something else.
double take_fraction(std::string_view& text) {
  double fraction = 0;
  double place = 0.1;
  constexpr std::string_view kDigits = "0123456789";
  if (text.size() < 2 || text[0] != '.' || kDigits.find(text[1]) == std::string_view::npos) {
    return 0;
  }
  text.remove_prefix(1);
  for (; !text.empty() && kDigits.find(text[0]) != std::string_view::npos; place /= 10) {
    fraction += place * (text[0] - '0');
    text.remove_prefix(1);
  }
  return fraction;
}

}  // namespace

std::optional<std::size_t> parse_bytes(std::string_view text) {
  std::size_t count = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{}) {
    return std::nullopt;
  }
  std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  const bool is_whole = !unit.starts_with('.');
  const double fraction = take_fraction(unit);
  const auto factor = unit.empty() && is_whole && count == 0 ? 1 : unit_bytes(unit);
  std::size_t bytes = 0;
  if (!factor || (!is_whole && *factor == 1) ||
      __builtin_mul_overflow(count, *factor, &bytes)) {
    return std::nullopt;
  }
  const auto part =
      static_cast<std::size_t>(std::llround(fraction * static_cast<double>(*factor)));
  return __builtin_add_overflow(bytes, part, &bytes) ? std::nullopt : std::optional(bytes);
}

Rule<std::size_t> byte_size() {
  return {.expected = "0, or a number of bytes such as 256MiB",
          .read = [](const YamlNode& node, std::size_t& value) {
            const auto bytes = node.kind == YamlNode::Kind::kScalar && !node.quoted
                                   ? parse_bytes(node.text)
                                   : std::nullopt;
            value = bytes.value_or(0);
            return bytes.has_value();
          }};
}

}  // namespace tare
