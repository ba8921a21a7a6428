#pragma once

#include "tare/config.h"

#include "io/config_rules.h"

#include <string>
#include <type_traits>

namespace tare {

/// A number as a file would have it.
std::string config_text(double value);
/// The name, or a map of name and options.
std::string config_text(const CalibratorChoice&);

/// What a file says for that value of a member: the word that the rule makes it of, or the
/// value itself. Empty for nothing, where no word stands for it.
template <class Member, class T>
std::string config_text(const Member& member, const Rule<T>& rule) {
  std::vector<std::string> words = rule.names;
  words.insert(words.end(), {"true", "false", "auto", "all"});
  for (const std::string& word : words) {
    T value{};
    if (rule.read({.kind = YamlNode::Kind::kScalar, .text = word}, value) &&
        static_cast<Member>(value) == member) {
      return word;
    }
  }
  if constexpr (std::is_same_v<Member, std::string>) {
    return member;
  } else if constexpr (std::is_arithmetic_v<Member>) {
    return config_text(static_cast<double>(member));
  } else if constexpr (requires { static_cast<double>(*member); }) {
    return member ? config_text(static_cast<double>(*member)) : "";
  } else {
    return {};
  }
}

}  // namespace tare
