#include "io/config_schema.h"
#include "io/config_text.h"
#include "io/target_schema.h"

#include <algorithm>
#include <string_view>
#include <type_traits>

namespace tare {
namespace {

/// Visitor of the schema that writes down what there is.
class KeyLister {
 public:
  std::vector<ConfigKey> take() { return std::move(keys_); }

  template <class Member, class T>
  void key(const std::string& name, const Member& member, const Rule<T>& rule,
           const char* summary) {
    const std::string value = config_text(member, rule);
    add(name, rule.expected, summary, value.empty() ? example(name, rule) : value);
  }
  template <class Member>
  void calibrator(const std::string& name, const Member& member,
                  const std::vector<std::string>& names, const char* summary) {
    const Rule<std::string> rule = known_name("calibrator", names);
    if constexpr (std::is_same_v<Member, CalibratorChoice>) {
      add(name, rule.expected, summary, config_text(member));
    } else {
      add(name, rule.expected, summary, example(name, rule));
    }
  }
  template <class T>
  void numbers(const std::string& name, const std::map<std::string, T>&, const Rule<T>& rule,
               const char* summary) {
    add(name + ".NAME", rule.expected, summary, {});
  }
  void texts(const std::string& name, const std::vector<std::string>&, const char* summary) {
    add(name, "a list of names", summary, "[]");
  }
  template <class Member, class T>
  void values(const std::string& name, const std::vector<Member>&, const Rule<T>& rule,
              const char* summary) {
    add(name, rule.expected + ", or a list of them", summary, rule.example);
  }
  template <class Element, class Describe>
  void maps(const std::string& name, const std::map<std::string, Element>&, const char* summary,
            const Describe& describe) {
    Element element;
    section(name + ".NAME", summary, [&](KeyLister& inner) { describe(inner, element); });
  }
  template <class Describe>
  void section(const std::string& name, const char* summary, const Describe& describe,
               const std::string& word = {}) {
    add(name, word.empty() ? "a map" : "a map, or " + word, summary, {});
    const std::string outer = prefix_;
    prefix_ += name + ".";
    describe(*this);
    prefix_ = outer;
  }
  template <class Element, class Describe>
  void list(const std::string& name, const std::vector<Element>&, const char* summary,
            const Describe& describe) {
    Element element;
    section(name + "[]", summary, [&](KeyLister& inner) { describe(inner, element); });
  }
  void require(bool, const std::string&, const std::string&) {}
  void place(const std::string&) {}

 private:
  void add(const std::string& name, std::string values, std::string summary,
           std::string value) {
    keys_.push_back({prefix_ + name, std::move(values), std::move(summary), std::move(value)});
  }

  /// Of a key of `layers[]`: what the general key says, if this one may say so, too.
  template <class T>
  std::string example(const std::string& name, const Rule<T>& rule) const {
    std::vector<std::string> words{general(prefix_ + name)};
    words.insert(words.end(), rule.names.begin(), rule.names.end());
    words.insert(words.end(), {rule.example, "true"});
    const auto found = std::find_if(words.begin(), words.end(), [&](const std::string& word) {
      T value{};
      return rule.read({.kind = YamlNode::Kind::kScalar, .text = word}, value);
    });
    return found == words.end() ? std::string() : *found;
  }

  std::string general(std::string path) const {
    for (const auto& [own, other] :
         {std::pair("layers[].", ""), std::pair("inputs.", "activations.")}) {
      if (path.starts_with(own)) {
        path.replace(0, std::string_view(own).size(), other);
      }
    }
    const auto found = std::find_if(keys_.begin(), keys_.end(),
                                    [&](const ConfigKey& key) { return key.path == path; });
    return found == keys_.end() ? std::string() : found->value;
  }

  std::string prefix_;
  std::vector<ConfigKey> keys_;
};

}  // namespace

std::vector<ConfigKey> config_keys(const std::vector<std::string>& calibrators) {
  Config config;
  KeyLister lister;
  describe(lister, config, {.calibrators = calibrators, .targets = target_names()});
  return lister.take();
}

std::vector<ConfigKey> target_keys() {
  Target target;
  KeyLister lister;
  describe(lister, target, {.calibrators = {}, .targets = target_names()});
  return lister.take();
}

}  // namespace tare
