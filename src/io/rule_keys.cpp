#include "io/config_schema.h"
#include "io/config_text.h"

#include <sstream>

namespace tare {

std::string config_text(double value) {
  std::ostringstream text;
  text.precision(std::numeric_limits<double>::digits10);
  text << value;
  return text.str();
}

std::string config_text(const CalibratorChoice& choice) {
  if (choice.options.empty()) {
    return choice.name;
  }
  std::string text = "{name: " + choice.name;
  for (const auto& [option, value] : choice.options) {
    text += ", " + option + ": " + config_text(value);
  }
  return text + "}";
}

namespace {

/// Visitor of the schema that writes down the members that have a value.
class KeyWriter {
 public:
  std::vector<std::pair<std::string, std::string>> take() { return std::move(keys_); }

  template <class Member, class T>
  void key(const std::string& name, const std::optional<Member>& member, const Rule<T>& rule,
           const char*) {
    if (member) {
      add(name, config_text(member, rule));
    }
  }
  void calibrator(const std::string& name, const std::optional<CalibratorChoice>& choice,
                  const std::vector<std::string>&, const char*) {
    if (choice) {
      add(name, config_text(*choice));
    }
  }
  template <class Describe>
  void section(const std::string& name, const char*, const Describe& describe,
               const std::string& = {}) {
    const std::string outer = prefix_;
    prefix_ += name + ".";
    describe(*this);
    prefix_ = outer;
  }

 private:
  void add(const std::string& name, std::string text) {
    keys_.emplace_back(prefix_ + name, std::move(text));
  }

  std::string prefix_;
  std::vector<std::pair<std::string, std::string>> keys_;
};

}  // namespace

std::vector<std::pair<std::string, std::string>> rule_keys(const LayerRule& rule) {
  LayerRule described = rule;
  KeyWriter writer;
  describe_exception(writer, described, {});
  return writer.take();
}

std::string rule_name(const Config& config, std::size_t index) {
  std::string name = "rule " + std::to_string(index + 1);
  const std::string& where = config.layers.at(index).where;
  if (!where.empty()) {
    name += " (" + where.substr(0, where.rfind(':')) + ")";
  }
  return name;
}

}  // namespace tare
