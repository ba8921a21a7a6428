#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tare::cli {

struct Flag {
  std::string name;     ///< "data" for --data
  char letter = 0;      ///< 'o' for -o; 0: none
  std::string value{};  ///< how help calls its value; empty: a switch
  std::string summary{};
  std::string fallback{};              ///< its value when absent
  std::vector<std::string> choices{};  ///< empty: anything
  bool or_file = false;                ///< or the path of a YAML file, beside the choices
  bool is_count = false;               ///< an integer from 1 up
  bool is_bytes = false;               ///< see parse_bytes()
  bool is_duration = false;            ///< seconds, or such as 90s, 5m or 2h
  bool is_share = false;               ///< a number from 0 to 1
  bool required = false;
  bool repeated = false;

  std::string spelled() const { return "--" + name; }
  std::string briefly() const { return letter == 0 ? spelled() : std::string{'-', letter}; }
};

struct Argument {
  std::string name;  ///< "MODEL"
  std::string summary;
  bool repeated = false;               ///< takes all that follow; the last one only
  bool optional = false;               ///< the last ones only
  std::vector<std::string> choices{};  ///< empty: anything
};

/// What a verb understands: parsing, help and defaults all come from it.
struct Syntax {
  std::string verb;
  std::vector<Argument> arguments;
  std::vector<Flag> flags;
};

// Flags that several verbs have.
Flag data_flag(bool required);
Flag output_flag(std::string summary);
Flag threads_flag();
Flag samples_flag();
Flag effort_flag();
Flag memory_flag();
Flag time_flag(std::string summary);
Flag dry_run_flag();
void append(std::vector<Flag>& flags, const std::vector<Flag>& more);
/// --quiet --json --help --version: every verb has them.
std::vector<Flag> common_flags();

/// What the user wrote.
class Options {
 public:
  bool has(const std::string& name) const { return values_.count(name) != 0; }
  /// Of a flag or argument; the fallback, or empty, when it is absent.
  std::string text(const std::string& name) const;
  const std::vector<std::string>& all(const std::string& name) const;
  /// 0 when it is absent.
  std::size_t count(const std::string& name) const;
  /// Of a duration; 0 when it is absent.
  std::size_t seconds(const std::string& name) const;
  /// 0 when it is absent.
  double share(const std::string& name) const;

 private:
  friend class Parser;
  std::map<std::string, std::vector<std::string>> values_;
};

/// Throws Error(kInvalidConfig) with all that is wrong. Nothing is required when --help or
/// --version is among the words.
Options parse_options(const Syntax&, const std::vector<std::string>& words);

}  // namespace tare::cli
