#include "pipeline/store/table_rules.h"

#include "base/hash.h"

#include <utility>

namespace tare {
namespace {

/// A list of two, both of `number`.
template <class T>
Rule<T> pair_of(const Rule<float>& number, std::string expected) {
  return {.expected = std::move(expected), .read = [number](const YamlNode& node, T& value) {
            float low = 0;
            float high = 0;
            const bool fits = node.items.size() == 2 && number.read(node.items[0], low) &&
                              number.read(node.items[1], high);
            value = {static_cast<double>(low), static_cast<double>(high)};
            return fits;
          }};
}

}  // namespace

Rule<std::string> only(const std::string& text, const std::string& reason) {
  return {.expected = "'" + text + "', " + reason,
          .read = [text](const YamlNode& node, std::string& value) {
            value = node.text;
            return node.kind == YamlNode::Kind::kScalar && value == text;
          }};
}

Rule<std::uint64_t> hexadecimal_number() {
  return {.expected = "a hexadecimal number",
          .read = [](const YamlNode& node, std::uint64_t& value) {
            const auto number = parse_hexadecimal(node.text);
            value = number.value_or(0);
            return number.has_value();
          }};
}

Rule<Range> low_and_high() {
  Rule<Range> rule = pair_of<Range>(real(), "two numbers, [LOW, HIGH]");
  rule.read = [two = rule.read](const YamlNode& node, Range& value) {
    return two(node, value) && value.low <= value.high;
  };
  return rule;
}

Rule<Clipped> two_shares() {
  Rule<float> share = real();
  share.read = [any = share.read](const YamlNode& node, float& value) {
    return any(node, value) && value >= 0 && value <= 1;
  };
  return pair_of<Clipped>(share, "two numbers in [0,1]");
}

}  // namespace tare
