#pragma once

#include "tare/config.h"
#include "tare/error.h"

#include "io/config_rules.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tare {

/// What was wrong in all that was read.
class ConfigFaults {
 public:
  /// `paths` are keys with those around them, "accuracy.effort": a key that stands elsewhere
  /// may be meant for one of them.
  explicit ConfigFaults(std::vector<std::string> paths = {}) : paths_(std::move(paths)) {}

  void add(const std::string& where, std::string what, std::string expected,
           std::string hint = {});
  void add(const Error& error);
  void add_unknown_key(const YamlNode& key, const std::vector<std::string>& known);
  /// Throws Error(kInvalidConfig) unless nothing was wrong.
  void raise() const { faults_.raise(ErrorCode::kInvalidConfig); }
  std::size_t size() const { return faults_.size(); }

 private:
  Faults faults_;
  std::vector<std::string> paths_;
};

/// Visitor of the schema that fills members from one map of a YAML tree; members whose keys are
/// absent keep their values, and a list stands in place of what was there.
class ConfigReader {
 public:
  /// A kNull node is an empty map.
  ConfigReader(const YamlNode& map, ConfigFaults& faults);

  /// Call after all keys were described: those that were not are unknown.
  void finish();

  template <class Member, class T>
  void key(const std::string& name, Member& member, const Rule<T>& rule, const char* = "") {
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

  /// One value, or a list of them.
  template <class Member, class T>
  void values(const std::string& name, std::vector<Member>& members, const Rule<T>& rule,
              const char* = "") {
    if (const YamlNode* node = find(name)) {
      read_values(name, *node, members, rule);
    }
  }

  /// The same for every key of a map of free names.
  template <class Member, class T>
  void values(const std::string& name, std::map<std::string, std::vector<Member>>& map,
              const Rule<T>& rule) {
    each_name(name, [&](ConfigReader& inner, const std::string& key) {
      inner.values(key, map[key], rule);
    });
  }

  /// A map under every key of a map of free names; what was there under a name stays where the
  /// new one says nothing.
  template <class Element, class Describe>
  void maps(const std::string& name, std::map<std::string, Element>& elements, const char*,
            const Describe& describe) {
    each_name(name, [&](ConfigReader& inner, const std::string& key) {
      inner.section(key, "", [&](ConfigReader& map) { describe(map, elements[key]); });
    });
  }

  /// For every key of a map of free names: `describe(inner, key)`, where `inner` reads that
  /// map.
  template <class Describe>
  void each_name(const std::string& name, const Describe& describe) {
    if (const YamlNode* node = find(name, YamlNode::Kind::kMap)) {
      ConfigReader inner(*node, faults_);
      for (const auto& [key, value] : node->entries) {
        describe(inner, key.text);
      }
    }
  }

  template <class Describe>
  void section(const std::string& name, const char*, const Describe& describe,
               const std::string& word = {}) {
    const auto read = [&](const YamlNode& map) {
      ConfigReader inner(map, faults_);
      describe(inner);
      inner.finish();
    };
    if (has_word(name, word)) {
      read(true_key(*find(name)));
    } else if (const YamlNode* node = find(name, YamlNode::Kind::kMap)) {
      read(*node);
    }
  }

  template <class Element, class Describe>
  void list(const std::string& name, std::vector<Element>& elements, const char*,
            const Describe& describe) {
    if (has(name)) {
      elements.clear();
    }
    for (const YamlNode& node : items(name)) {
      if (require_kind(node, "an entry of '" + name + "'", YamlNode::Kind::kMap)) {
        ConfigReader inner(node, faults_);
        describe(inner, elements.emplace_back());
        inner.finish();
      }
    }
  }

  void require(bool holds, const std::string& what, const std::string& expected);
  void place(std::string& member) const { member = map_.where; }
  bool has(const std::string& name) const { return look_up(name) != nullptr; }
  const std::string& where() const { return map_.where; }
  /// Of the value under that key; of the whole map where there is none.
  const std::string& where(const std::string& name) const;

 private:
  template <class Member, class T>
  void read_values(const std::string& name, const YamlNode& node, std::vector<Member>& members,
                   const Rule<T>& rule) {
    members.clear();
    const auto read = [&](const YamlNode& item) {
      T value{};
      const bool fits = rule.read(item, value);
      if (fits) {
        members.push_back(static_cast<Member>(value));
      }
      return fits;
    };
    if (read(node)) {
      return;
    }
    if (node.kind != YamlNode::Kind::kList) {
      refuse(node, "'" + name + "'", rule.expected, {}, {});
    }
    for (const YamlNode& item : node.items) {
      if (!read(item)) {
        refuse(item, "an entry of '" + name + "'", rule.expected, {}, {});
      }
    }
  }
  /// Whether the value of that key is that one word.
  bool has_word(const std::string& name, const std::string& word) const;
  /// The map in which the key of that word is true.
  static YamlNode true_key(const YamlNode& word);
  /// The value of that key, or null.
  const YamlNode* look_up(const std::string& name) const;
  /// The same; the key is known from now on.
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
