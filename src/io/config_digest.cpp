#include "io/config_digest.h"

#include "base/hash.h"
#include "io/config_schema.h"
#include "io/target_schema.h"

#include <bit>
#include <type_traits>

namespace tare {
namespace {

/// Visitor of the schema that writes all values down, for nobody to read.
class ValueWriter {
 public:
  const std::string& text() const { return text_; }

  template <class T, class R>
  void key(const std::string& name, const T& value, const Rule<R>&, const char*) {
    add(name);
    add(value);
  }
  template <class T>
  void calibrator(const std::string& name, const T& choice, const std::vector<std::string>&,
                  const char*) {
    add(name);
    add(choice);
  }
  template <class T>
  void numbers(const std::string& name, const std::map<std::string, T>& values, const Rule<T>&,
               const char*) {
    add(name);
    add(values);
  }
  void texts(const std::string& name, const std::vector<std::string>& values, const char*) {
    add(name);
    add(values.size());
    for (const std::string& value : values) {
      add(value);
    }
  }
  template <class Member, class T>
  void values(const std::string& name, const std::vector<Member>& members, const Rule<T>&,
              const char*) {
    add(name);
    add(members.size());
    for (const Member member : members) {
      add(member);
    }
  }
  template <class Element, class Describe>
  void maps(const std::string& name, std::map<std::string, Element>& elements, const char*,
            const Describe& describe) {
    add(name);
    add(elements.size());
    for (auto& [key, element] : elements) {
      add(key);
      describe(*this, element);
    }
  }
  template <class Describe>
  void section(const std::string& name, const char*, const Describe& describe,
               const std::string& = {}) {
    add(name);
    describe(*this);
  }
  template <class Element, class Describe>
  void list(const std::string& name, std::vector<Element>& elements, const char*,
            const Describe& describe) {
    add(name);
    add(elements.size());
    for (Element& element : elements) {
      describe(*this, element);
    }
  }
  void require(bool, const std::string&, const std::string&) {}
  void place(const std::string&) {}

 private:
  void add(const std::string& text) {
    add(text.size());
    text_ += text;
  }
  template <class T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>) void add(T value) {
    text_ += std::to_string(static_cast<std::int64_t>(value));
    text_ += ' ';
  }
  void add(const std::vector<DType>& values) {
    add(values.size());
    for (const DType value : values) {
      add(value);
    }
  }
  void add(const IntegerRange& range) {
    add(range.low);
    add(range.high);
  }
  void add(double value) { add(std::bit_cast<std::int64_t>(value)); }
  template <class T>
  void add(const std::optional<T>& value) {
    add(value.has_value());
    if (value) {
      add(*value);
    }
  }
  template <class T>
  void add(const std::map<std::string, T>& values) {
    add(values.size());
    for (const auto& [name, value] : values) {
      add(name);
      add(value);
    }
  }
  void add(const CalibratorChoice& choice) {
    add(choice.name);
    add(choice.options);
  }

  std::string text_;
};

}  // namespace

std::uint64_t config_digest(Config config) {
  ValueWriter writer;
  config.processor = processor_of(config);
  if (is_target_file(config.target)) {  // what it says counts, not where it is
    Target target = read_target(config.target, config.processor);
    config.target = target.name;
    target.extends.clear();
    describe(writer, target, {});
  }
  describe(writer, config, {});
  return hash(writer.text());
}

}  // namespace tare
