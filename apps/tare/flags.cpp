#include "flags.h"

#include "tare/config.h"
#include "tare/error.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <cxxopts.hpp>

namespace tare::cli {
namespace {

std::string listed(const std::vector<std::string>& names) {
  std::string result;
  for (std::size_t i = 0; i < names.size(); ++i) {
    result += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  }
  return result;
}

/// False for zero, signs, fractions and what does not fit.
bool read_count(const std::string& text, std::size_t& count) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  return error == std::errc{} && rest == end && count > 0;
}

/// Seconds, or with a unit: "90s", "5m", "2h". False for none.
bool read_duration(const std::string& text, std::size_t& seconds) {
  if (text.empty()) {
    return false;
  }
  const std::map<char, std::size_t> units{{'s', 1}, {'m', 60}, {'h', 3600}};
  const auto unit = units.find(text.back());
  const bool has_unit = unit != units.end();
  return read_count(has_unit ? text.substr(0, text.size() - 1) : text, seconds) &&
         !__builtin_mul_overflow(seconds, has_unit ? unit->second : 1, &seconds);
}

/// False for what is not from 0 to 1.
bool read_share(const std::string& text, double& share) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, share);
  return error == std::errc{} && rest == end && share >= 0 && share <= 1;
}

}  // namespace

Flag data_flag(bool required) {
  return {.name = "data",
          .value = "PATH",
          .summary =
              "samples: HDF5 (one dataset per model input, first dimension = sample), "
              ".npz, .npy, a list of files, or a folder of arrays, pictures or recordings",
          .required = required};
}

Flag output_flag(std::string summary) {
  return {.name = "output",
          .letter = 'o',
          .value = "FILE",
          .summary = std::move(summary),
          .required = true};
}

Flag threads_flag() {
  return {.name = "threads",
          .value = "N",
          .summary = "number of threads; one per core by default",
          .is_count = true};
}

Flag samples_flag() {
  return {.name = "samples",
          .value = "N",
          .summary = "use the first N samples only",
          .is_count = true};
}

Flag effort_flag() {
  return {.name = "effort",
          .value = "LEVEL",
          .summary = "how much time to spend on accuracy",
          .choices = {"fast", "default", "best"}};
}

Flag memory_flag() {
  return {.name = "memory",
          .value = "SIZE",
          .summary =
              "memory of the activation cache (such as 2GiB), whose rest is in a temporary "
              "file; networks may take as much; default: what 64 samples need, 16 MiB at least",
          .is_bytes = true};
}

Flag time_flag(std::string summary) {
  return {.name = "time", .value = "TIME", .summary = std::move(summary), .is_duration = true};
}

Flag dry_run_flag() {
  return {.name = "dry-run",
          .summary = "only print what time, memory and disk it is expected to take"};
}

void append(std::vector<Flag>& flags, const std::vector<Flag>& more) {
  flags.insert(flags.end(), more.begin(), more.end());
}

std::vector<Flag> common_flags() {
  return {{.name = "json", .summary = "print the result as one JSON object"},
          {.name = "quiet", .summary = "print only the result, warnings and errors"},
          {.name = "help", .letter = 'h', .summary = "show this help"},
          {.name = "version", .summary = "print the versions of tare and of its libraries"}};
}

std::string Options::text(const std::string& name) const {
  const std::vector<std::string>& values = all(name);
  return values.empty() ? std::string() : values.back();
}

const std::vector<std::string>& Options::all(const std::string& name) const {
  static const std::vector<std::string> none;
  const auto found = values_.find(name);
  return found == values_.end() ? none : found->second;
}

std::size_t Options::count(const std::string& name) const {
  std::size_t result = 0;
  read_count(text(name), result);
  return result;
}

std::size_t Options::seconds(const std::string& name) const {
  std::size_t result = 0;
  read_duration(text(name), result);
  return result;
}

double Options::share(const std::string& name) const {
  double result = 0;
  read_share(text(name), result);
  return result;
}

class Parser {
 public:
  Parser(const Syntax& syntax, const std::vector<std::string>& words)
      : syntax_(syntax), words_(words) {}

  Options parse() {
    split_words();
    // Words after an unknown flag may be its value, so nothing else can be said for certain.
    raise_unknown();
    if (!options_.has("help") && !options_.has("version")) {
      take_arguments();
      require_flags();
      faults_.raise(ErrorCode::kInvalidConfig);
    }
    return std::move(options_);
  }

 private:
  static constexpr const char* kArguments = "arguments";

  /// What cxxopts makes of the words. It knows the names only; values are checked here, so that
  /// all faults are reported at once.
  void split_words() {
    cxxopts::Options spec(syntax_.verb);
    spec.allow_unrecognised_options();
    auto add = spec.add_options();
    for (const Flag& flag : syntax_.flags) {
      const std::string letter = flag.letter != 0 ? std::string(1, flag.letter) + "," : "";
      const auto value = cxxopts::value<std::string>();
      add(letter + flag.name, "", flag.value.empty() ? value->implicit_value("true") : value);
    }
    add(kArguments, "", cxxopts::value<std::vector<std::string>>());
    spec.parse_positional({kArguments});
    std::vector<const char*> words{"tare"};
    for (const std::string& word : words_) {
      words.push_back(word.c_str());
    }
    words.push_back("");  // the value of an option that came last without one
    try {
      const auto parsed = spec.parse(static_cast<int>(words.size()), words.data());
      unknown_ = parsed.unmatched();
      for (const cxxopts::KeyValue& given : parsed.arguments()) {
        take(given.key(), given.value());
      }
    } catch (const cxxopts::exceptions::exception& error) {
      throw Error(ErrorCode::kInvalidConfig, syntax_.verb, error.what());
    }
  }

  void take(const std::string& name, const std::string& value) {
    if (name == kArguments) {
      if (!value.empty()) {
        arguments_.push_back(value);
      }
      return;
    }
    const auto flag = std::find_if(syntax_.flags.begin(), syntax_.flags.end(),
                                   [&](const Flag& known) { return known.name == name; });
    const bool is_flag = value.starts_with("--") && value.size() > 2;
    if (!flag->value.empty() && !value.empty() && !is_flag) {
      take_value(*flag, value);
      return;
    }
    if (flag->value.empty() && value != "true") {
      fault("option '" + flag->spelled() + "' takes no value");
    } else if (!flag->value.empty()) {
      fault("option '" + flag->spelled() + "' has no value", flag->value);
    }
    options_.values_[name];  // not missing on top of it
  }

  void take_value(const Flag& flag, const std::string& value) {
    std::size_t count = 0;
    if (flag.is_count && !read_count(value, count)) {
      fault("option '" + flag.spelled() + "' is '" + value + "'", "an integer of at least 1");
    }
    double share = 0;
    if (flag.is_share && !read_share(value, share)) {
      fault("option '" + flag.spelled() + "' is '" + value + "'", "a share from 0 to 1");
    }
    if (flag.is_bytes && !parse_bytes(value)) {
      fault("option '" + flag.spelled() + "' is '" + value + "'",
            "0, or a number of bytes such as 256MiB");
    }
    std::size_t seconds = 0;
    if (flag.is_duration && !read_duration(value, seconds)) {
      fault("option '" + flag.spelled() + "' is '" + value + "'",
            "a number of seconds of at least 1, or such as 90s, 5m or 2h");
    }
    if (!flag.or_file || !is_target_file(value)) {
      require_choice("option '" + flag.spelled() + "'", value, flag.choices,
                     flag.or_file ? ", or a YAML file" : "");
    }
    std::vector<std::string>& values = options_.values_[flag.name];
    if (!flag.repeated && !values.empty()) {
      fault("option '" + flag.spelled() + "' is given twice");
    }
    values.push_back(value);
  }

  void require_choice(const std::string& what, const std::string& value,
                      const std::vector<std::string>& choices,
                      const std::string& otherwise = {}) {
    if (!choices.empty() && std::find(choices.begin(), choices.end(), value) == choices.end()) {
      fault(what + " is '" + value + "'", listed(choices) + otherwise);
    }
  }

  void raise_unknown() const {
    if (unknown_.empty()) {
      return;
    }
    std::vector<std::string> known;
    for (const Flag& flag : syntax_.flags) {
      known.push_back(flag.spelled());
    }
    Faults faults;
    bool is_likely = false;  // of any, what was meant
    for (const std::string& spelled : unknown_) {
      const std::string hint = suggestion(spelled, known);
      is_likely = is_likely || !hint.empty();
      faults.add(syntax_.verb, "unknown option '" + spelled + "'", {}, hint);
    }
    throw Error(ErrorCode::kInvalidConfig, faults.all())
        .hint(is_likely ? "" : "'tare help " + syntax_.verb + "' lists the options");
  }

  void take_arguments() {
    const auto& known = syntax_.arguments;
    const bool open_end = !known.empty() && known.back().repeated;
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      if (i >= known.size() && !open_end) {
        fault("unexpected argument '" + arguments_[i] + "'");
        continue;
      }
      const Argument& argument = known[std::min(i, known.size() - 1)];
      require_choice("argument " + argument.name, arguments_[i], argument.choices);
      options_.values_[argument.name].push_back(arguments_[i]);
    }
    for (std::size_t i = arguments_.size(); i < known.size(); ++i) {
      if (!known[i].optional) {
        fault("argument " + known[i].name + " is missing", known[i].summary);
      }
    }
  }

  void require_flags() {
    for (const Flag& flag : syntax_.flags) {
      if (options_.has(flag.name)) {
        continue;
      }
      if (flag.required) {
        fault("option '" +
                  (flag.letter != 0 ? std::string("-") + flag.letter : flag.spelled()) +
                  "' is missing",
              flag.value);
      } else if (!flag.fallback.empty()) {
        options_.values_[flag.name] = {flag.fallback};
      }
    }
  }

  void fault(std::string what, std::string expected = {}) {
    faults_.add(syntax_.verb, std::move(what), std::move(expected));
  }

  const Syntax& syntax_;
  const std::vector<std::string>& words_;
  std::vector<std::string> arguments_;
  std::vector<std::string> unknown_;
  Faults faults_;
  Options options_;
};

Options parse_options(const Syntax& syntax, const std::vector<std::string>& words) {
  return Parser(syntax, words).parse();
}

}  // namespace tare::cli
