#pragma once

#include "tare/config.h"

#include "io/yaml_document.h"

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tare {

/// Which texts a key takes and what they become.
template <class T>
struct Rule {
  std::string expected;  ///< "true or false"
  std::function<bool(const YamlNode&, T&)> read{};
  std::vector<std::string> names{};  ///< what a misspelled text may have meant
  std::string noun{};                ///< what the names are: "calibrator"; may be empty
  std::string example{};             ///< of a text that is free; may be empty
};

/// The rule with a text that it takes, to be shown.
template <class T>
Rule<T> with_example(Rule<T> rule, std::string example) {
  rule.example = std::move(example);
  return rule;
}

/// "int8", "int8 or uint8", "int8, uint8 or auto"
std::string alternatives(const std::vector<std::string>& names);

Rule<bool> truth();
Rule<std::string> any_text(std::string example = {});
Rule<std::string> pattern_text();
Rule<std::string> known_name(std::string noun, std::vector<std::string> names);
/// One of these names, or the path of a target file.
Rule<std::string> target_name(std::vector<std::string> names);
Rule<double> number();
/// The same, from 0 up.
Rule<double> cost();
/// Rounded to the nearest float; not one that would round to infinity or, unlike it, to 0.
Rule<float> real();
/// The same, above 0.
Rule<float> positive();
/// The same, also as a quotient: 1/255.
Rule<float> fraction();
Rule<std::int64_t> integer(std::int64_t low,
                           std::int64_t high = std::numeric_limits<std::int64_t>::max());
/// The same, or a word that stands for another one.
Rule<std::int64_t> integer_or(std::string word, std::int64_t meaning, std::int64_t low);
/// An integer from 0 up, or a range of them: "3", "2..", "..16", "4..8".
Rule<std::optional<IntegerRange>> integer_range();
/// The same of places in a row, which also count from its end: -1 is the last, "-1..0" the last
/// and the first, "-2.." the last two.
Rule<std::optional<IntegerRange>> place_range();
/// An integer from 1 up, or "all", which is nothing.
Rule<std::optional<int>> integer_or_auto(int low, int high);
Rule<std::optional<std::int64_t>> count_or_all();

/// A number from 0 up, or "auto", which is nothing.
Rule<std::optional<double>> share_or_auto();

/// A number of bytes with the unit B, KiB, MiB or GiB (KB, MB, GB count in thousands), or 0.
Rule<std::size_t> byte_size();

template <class T>
Rule<T> one_of(std::vector<std::pair<std::string, T>> choices) {
  Rule<T> rule;
  for (const auto& choice : choices) {
    rule.names.push_back(choice.first);
  }
  rule.expected = alternatives(rule.names);
  rule.read = [choices = std::move(choices)](const YamlNode& node, T& value) {
    for (const auto& [name, meaning] : choices) {
      if (node.kind == YamlNode::Kind::kScalar && node.text == name) {
        value = meaning;
        return true;
      }
    }
    return false;
  };
  return rule;
}

}  // namespace tare
