#include "io/config_schema.h"

namespace tare {
namespace {

/// Visitor of the schema that writes down what there is.
class KeyLister {
 public:
  std::vector<ConfigKey> take() { return std::move(keys_); }

  template <class Member, class T>
  void key(const std::string& name, const Member&, const Rule<T>& rule, const char* summary) {
    add(name, rule.expected, summary);
  }
  template <class Member>
  void calibrator(const std::string& name, const Member&, const std::vector<std::string>& names,
                  const char* summary) {
    add(name, alternatives(names), summary);
  }
  template <class T>
  void numbers(const std::string& name, const std::map<std::string, T>&, const Rule<T>& rule,
               const char* summary) {
    add(name + ".NAME", rule.expected, summary);
  }
  void texts(const std::string& name, const std::vector<std::string>&, const char* summary) {
    add(name, "a list of names", summary);
  }
  template <class Describe>
  void section(const std::string& name, const char* summary, const Describe& describe,
               const std::string& word = {}) {
    add(name, word.empty() ? "a map" : "a map, or " + word, summary);
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
  void require(bool, const char*, const char*) {}
  void place(const std::string&) {}

 private:
  void add(const std::string& name, std::string values, std::string summary) {
    keys_.push_back({prefix_ + name, std::move(values), std::move(summary)});
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

}  // namespace tare
