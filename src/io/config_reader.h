#pragma once

#include "tare/config.h"
#include "tare/error.h"

#include "io/config_rules.h"

#include <optional>
#include <string>
#include <vector>

namespace tare {

/// What was wrong in all that was read, with at most one hint.
class ConfigFaults {
 public:
  void add(const YamlNode& node, std::string what, std::string expected);
  void add(const Error& error);
  /// Remembers `name` when one of `candidates` is near to it.
  void suggest(const std::string& name, const std::vector<std::string>& candidates);
  /// Throws Error(kInvalidConfig) unless nothing was wrong.
  void raise() const;

 private:
  Faults faults_;
  std::vector<std::string> suggestions_;
};

/// Visitor of the schema that fills members from one map of a YAML tree; members whose keys are
/// absent keep their values.
class ConfigReader {
 public:
  /// A kNull node is an empty map.
  ConfigReader(const YamlNode& map, ConfigFaults& faults);

  /// Call after all keys were described: those that were not are unknown.
  void finish();

  template <class Member, class T>
  void key(const std::string& name, Member& member, const Rule<T>& rule, const char*) {
    if (const YamlNode* node = find(name)) {
      T value{};
      if (rule.read(*node, value)) {
        member = static_cast<Member>(value);
      } else {
        refuse(*node, "'" + name + "'", rule.expected, rule.names, rule.noun);
      }
    }
  }

  template <class Member>
  void calibrator(const std::string& name, Member& member,
                  const std::vector<std::string>& names, const char*) {
    if (const YamlNode* node = find(name)) {
      member = read_calibrator(*node, names);
    }
  }

  template <class T>
  void numbers(const std::string& name, std::map<std::string, T>& map, const Rule<T>& rule,
               const char*) {
    for (const auto& [key, node] : entries(name)) {
      T value{};
      if (rule.read(node, value)) {
        map[key.text] = value;
      } else {
        refuse(node, "'" + key.text + "'", rule.expected, {}, {});
      }
    }
  }

  void texts(const std::string& name, std::vector<std::string>& list, const char*);

  template <class Describe>
  void section(const std::string& name, const char*, const Describe& describe) {
    if (const YamlNode* node = find(name, YamlNode::Kind::kMap)) {
      ConfigReader inner(*node, faults_);
      describe(inner);
      inner.finish();
    }
  }

  template <class Element, class Describe>
  void list(const std::string& name, std::vector<Element>& elements, const char*,
            const Describe& describe) {
    for (const YamlNode& node : items(name)) {
      if (require_kind(node, "an entry of '" + name + "'", YamlNode::Kind::kMap)) {
        ConfigReader inner(node, faults_);
        describe(inner, elements.emplace_back());
        inner.finish();
      }
    }
  }

  void require(bool holds, const char* what, const char* expected);

 private:
  /// The value of that key, or null; the key is known from now on.
  const YamlNode* find(const std::string& name);
  /// The same for a map or list, null when it is empty or of another kind (a fault).
  const YamlNode* find(const std::string& name, YamlNode::Kind kind);
  const std::vector<YamlNode>& items(const std::string& name);
  const std::vector<std::pair<YamlNode, YamlNode>>& entries(const std::string& name);
  bool require_kind(const YamlNode& node, const std::string& what, YamlNode::Kind kind);
  void refuse(const YamlNode& node, const std::string& what, const std::string& expected,
              const std::vector<std::string>& names, const std::string& noun);
  CalibratorChoice read_calibrator(const YamlNode& node, const std::vector<std::string>& names);

  const YamlNode& map_;
  ConfigFaults& faults_;
  std::vector<std::string> known_;
};

}  // namespace tare
