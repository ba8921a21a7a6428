#include "tare/error.h"
#include "tare/process.h"

#include "help/help.h"
#include "help/man_page.h"
#include "interrupt.h"
#include "processor.h"
#include "text.h"
#include "verb.h"
#include "version.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#define TARE_X(stem) TARE_VERB(stem);
#include "verb_list.inc"
#undef TARE_X

namespace tare::cli {

std::vector<NamedVerb> verbs() {
  return {
#define TARE_X(stem) {#stem, tare_verb_##stem()},
#include "verb_list.inc"
#undef TARE_X
  };
}

Syntax NamedVerb::syntax() const {
  Syntax result{.verb = name, .arguments = verb.arguments, .flags = verb.flags};
  for (Flag& flag : common_flags()) {
    const bool is_own = std::any_of(verb.flags.begin(), verb.flags.end(),
                                    [&](const Flag& own) { return own.name == flag.name; });
    if (!is_own) {
      result.flags.push_back(std::move(flag));
    }
  }
  return result;
}

namespace {

constexpr int kUserError = 2;
constexpr int kBug = 70;

const NamedVerb& find_verb(const std::vector<NamedVerb>& all, const std::string& name,
                           std::vector<std::string> also) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const NamedVerb& named) { return named.name == name; });
  if (found != all.end()) {
    return *found;
  }
  for (const NamedVerb& named : all) {
    also.push_back(named.name);
  }
  const bool is_option = name.starts_with("-");
  Error error(ErrorCode::kInvalidConfig, "",
              (is_option ? "unknown option '" : "unknown verb '") + name + "'");
  const std::string near = nearest(name, also);
  error.hint(near.empty() ? "'tare help' lists the verbs" : "did you mean '" + near + "'?");
  throw error;
}

std::string help_on(const std::vector<NamedVerb>& all, const std::vector<std::string>& words) {
  if (words.empty()) {
    return general_help(all);
  }
  if (words[0] == "config") {
    return config_help();
  }
  if (words[0] == "man") {
    return man_page(all);
  }
  return verb_help(find_verb(all, words[0], {"config", "man"}));
}

int dispatch(std::vector<std::string> words) {
  const std::vector<NamedVerb> all = verbs();
  const std::string first = words.empty() ? "help" : words[0];
  if (!words.empty()) {
    words.erase(words.begin());
  }
  if (first == "help" || first == "--help" || first == "-h") {
    std::erase_if(words,
                  [](const std::string& word) { return word == "--help" || word == "-h"; });
    Console(false).print(help_on(all, words));
    return 0;
  }
  if (first == "--version") {
    Console(false).print(version_text());
    return 0;
  }
  const NamedVerb& named = find_verb(all, first, {"help", "--help", "--version"});
  const Options options = parse_options(named.syntax(), words);
  const Console console(options.has("quiet"));
  if (options.has("help") || options.has("version")) {
    console.print(options.has("help") ? verb_help(named) : version_text());
    return 0;
  }
  return named.verb.run(options, console);
}

/// Each fault's line gets the prefix; "  while" and "  hint" lines follow as they are.
void report(const char* prefix, const std::string& message) {
  std::string text;
  std::size_t begin = 0;
  while (begin <= message.size()) {
    const std::size_t end = std::min(message.find('\n', begin), message.size());
    const std::string line = message.substr(begin, end - begin);
    text += (line.starts_with("  ") ? "" : prefix) + line + "\n";
    begin = end + 1;
  }
  Console(false).say(text);
}

void report_shortage() {
  report("tare: error: ", "not enough memory: this process may have " +
                              memory_text(static_cast<double>(available_memory())) +
                              "\n  hint: fewer threads need less, as do smaller inputs");
}

int guarded(const std::vector<std::string>& words) {
  try {
    require_processor();
    return dispatch(words);
  } catch (const BrokenPipe&) {
    return 0;
  } catch (const Error& error) {
    const bool is_bug = error.code() == ErrorCode::kInternal;
    report(is_bug ? "tare: bug: " : "tare: error: ", error.what());
    return is_bug ? kBug : kUserError;
  } catch (const std::filesystem::filesystem_error& error) {
    report("tare: error: ", printable(error.path1().string() + ": " + error.code().message()));
    return kUserError;
  } catch (const std::system_error& error) {
    report("tare: error: ", printable(error.what()));
    return kUserError;
  } catch (const std::bad_alloc&) {
    report_shortage();
    return kUserError;
  } catch (const std::length_error&) {  // of a vector with more elements than there are bytes
    report_shortage();
    return kUserError;
  } catch (const std::exception& error) {
    report("tare: bug: ", printable(error.what()));
    return kBug;
  }
}

}  // namespace
}  // namespace tare::cli

int main(int count, char** words) {
  tare::cli::handle_signals();
  return tare::cli::guarded({words + 1, words + count});
}
