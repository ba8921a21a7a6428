#include "io/config_reader.h"

#include <algorithm>
#include <iterator>

namespace tare {

void ConfigFaults::add(const std::string& where, std::string what, std::string expected,
                       std::string hint) {
  faults_.add(where, std::move(what), std::move(expected), std::move(hint));
}

void ConfigFaults::add(const Error& error) {
  for (const Fault& fault : error.faults()) {
    faults_.add(fault.where, fault.what, fault.expected, fault.hint);
  }
}

void ConfigFaults::add_unknown_key(const YamlNode& key, const std::vector<std::string>& known) {
  std::string hint = suggestion(key.text, known);
  if (hint.empty()) {
    std::vector<std::string> meant;
    std::copy_if(paths_.begin(), paths_.end(), std::back_inserter(meant),
                 [&](const std::string& path) { return path.ends_with("." + key.text); });
    hint = meant.empty() ? "" : "did you mean " + alternatives(meant) + "?";
  }
  faults_.add(key.where, "unknown key '" + key.text + "'", alternatives(known), hint);
}

ConfigReader::ConfigReader(const YamlNode& map, ConfigFaults& faults)
    : map_(map), faults_(faults) {}

void ConfigReader::finish() {
  for (const auto& [key, value] : map_.entries) {
    if (std::find(known_.begin(), known_.end(), key.text) == known_.end()) {
      faults_.add_unknown_key(key, known_);
    }
  }
}

void ConfigReader::texts(const std::string& name, std::vector<std::string>& list, const char*) {
  if (has(name)) {
    list.clear();
  }
  for (const YamlNode& node : items(name)) {
    if (require_kind(node, "an entry of '" + name + "'", YamlNode::Kind::kScalar)) {
      list.push_back(node.text);
    }
  }
}

void ConfigReader::require(bool holds, const std::string& what, const std::string& expected) {
  if (!holds) {
    faults_.add(map_.where, what, expected);
  }
}

const std::string& ConfigReader::where(const std::string& name) const {
  const YamlNode* node = look_up(name);
  return node == nullptr ? map_.where : node->where;
}

bool ConfigReader::has_word(const std::string& name, const std::string& word) const {
  const YamlNode* node = look_up(name);
  return node != nullptr && node->kind == YamlNode::Kind::kScalar && !word.empty() &&
         node->text == word;
}

YamlNode ConfigReader::true_key(const YamlNode& word) {
  YamlNode map{.kind = YamlNode::Kind::kMap, .where = word.where};
  map.entries.emplace_back(
      word, YamlNode{.kind = YamlNode::Kind::kScalar, .where = word.where, .text = "true"});
  return map;
}

const YamlNode* ConfigReader::look_up(const std::string& name) const {
  const auto found = std::find_if(map_.entries.begin(), map_.entries.end(),
                                  [&](const auto& entry) { return entry.first.text == name; });
  return found == map_.entries.end() ? nullptr : &found->second;
}

const YamlNode* ConfigReader::find(const std::string& name) {
  known_.push_back(name);
  return look_up(name);
}

const YamlNode* ConfigReader::find(const std::string& name, YamlNode::Kind kind) {
  const YamlNode* node = find(name);
  if (node == nullptr || node->kind == YamlNode::Kind::kNull) {
    return nullptr;
  }
  return require_kind(*node, "'" + name + "'", kind) ? node : nullptr;
}

const std::vector<YamlNode>& ConfigReader::items(const std::string& name) {
  static const std::vector<YamlNode> none;
  const YamlNode* node = find(name, YamlNode::Kind::kList);
  return node == nullptr ? none : node->items;
}

const std::vector<std::pair<YamlNode, YamlNode>>& ConfigReader::entries(
    const std::string& name) {
  static const std::vector<std::pair<YamlNode, YamlNode>> none;
  const YamlNode* node = find(name, YamlNode::Kind::kMap);
  return node == nullptr ? none : node->entries;
}

bool ConfigReader::require_kind(const YamlNode& node, const std::string& what,
                                YamlNode::Kind kind) {
  if (node.kind == kind) {
    return true;
  }
  const char* expected = kind == YamlNode::Kind::kMap    ? "a map"
                         : kind == YamlNode::Kind::kList ? "a list"
                                                         : "a text";
  refuse(node, what, expected, {}, {});
  return false;
}

void ConfigReader::refuse(const YamlNode& node, const std::string& what,
                          const std::string& expected, const std::vector<std::string>& names,
                          const std::string& noun) {
  const bool is_name = node.kind == YamlNode::Kind::kScalar && !noun.empty();
  faults_.add(
      node.where,
      is_name ? "unknown " + noun + " '" + node.text + "'" : what + " is " + node.description(),
      expected, suggestion(node.text, names));
}

CalibratorChoice ConfigReader::read_calibrator(const YamlNode& node,
                                               const std::vector<std::string>& names) {
  CalibratorChoice choice;
  const Rule<std::string> rule = known_name("calibrator", names);
  if (node.kind != YamlNode::Kind::kMap) {
    if (!rule.read(node, choice.name)) {
      refuse(node, "'calibrator'", rule.expected, names, rule.noun);
    }
    return choice;
  }
  ConfigReader inner(node, faults_);
  bool named = false;
  for (const auto& [key, value] : node.entries) {
    if (key.text == "name") {
      named = true;
      inner.key("name", choice.name, rule, "");
    } else if (!number().read(value, choice.options[key.text])) {
      refuse(value, "'" + key.text + "'", number().expected, {}, {});
    }
  }
  inner.require(named, "a calibrator without 'name'", alternatives(names));
  return choice;
}

}  // namespace tare
