#include "tare/error.h"
#include "tare/process.h"

#include "help/config_help.h"
#include "help/help.h"
#include "help/help_json.h"
#include "help/man_page.h"
#include "interrupt.h"
#include "printing/error_text.h"
#include "processor.h"
#include "ranks.h"
#include "text.h"
#include "verb.h"
#include "version.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
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
  const std::string hint = suggestion(name, also);
  throw error.hint(hint.empty() ? "'tare help' lists the verbs" : hint);
}

std::string help_on(const std::vector<NamedVerb>& all, const std::vector<std::string>& words,
                    const Terminal& terminal) {
  if (words.empty()) {
    return general_help(all, terminal);
  }
  if (words[0] == "--json") {
    return help_json(all);
  }
  if (words[0] == "config") {
    return config_help(terminal);
  }
  if (words[0] == "man") {
    return man_page(all);
  }
  return verb_help(find_verb(all, words[0], {"config", "man"}), terminal);
}

int dispatch(std::vector<std::string> words, const Console& console) {
  const std::vector<NamedVerb> all = verbs();
  const std::string first = words.empty() ? "help" : words[0];
  if (!words.empty()) {
    words.erase(words.begin());
  }
  if (first == "help" || first == "--help" || first == "-h") {
    std::erase_if(words,
                  [](const std::string& word) { return word == "--help" || word == "-h"; });
    console.print(help_on(all, words, console.out()));
    return 0;
  }
  if (first == "--version") {
    console.print(version_text());
    return 0;
  }
  const NamedVerb& named = find_verb(all, first, {"help", "--help", "--version"});
  const Options options = parse_options(named.syntax(), words);
  if (options.has("help") || options.has("version")) {
    console.print(options.has("help") ? verb_help(named, console.out()) : version_text());
    return 0;
  }
  const bool is_shared = named.verb.shares_work && named.verb.shares_work(options);
  if (const int rank = rank_of_process(); rank > 0 && !is_shared) {
    if (rank == 1) {
      console.say("note: ranks do not share this '" + named.name +
                  "', so the first does all of it\n");
    }
    return 0;
  }
  return named.verb.run(options, console);
}

/// What is wrong for all ranks is said by the first one, whereupon mpirun ends the others:
/// these give it time to.
void let_the_first_speak() {
  if (rank_of_process() > 0) {
    std::this_thread::sleep_for(std::chrono::seconds(3));
  }
}

/// Before the words are parsed, as errors are said to the same reader.
Audience audience(const std::vector<std::string>& words) {
  const auto given = [&](const std::string& option) {
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
      return word == option || word.starts_with(option + "=");
    });
  };
  return given("--quiet")  ? Audience::kNobody
         : given("--json") ? Audience::kPrograms
                           : Audience::kPeople;
}

int guarded(const std::vector<std::string>& words) {
  const Console console(audience(words));
  const auto fails = [&](const std::string& message) {
    let_the_first_speak();
    say_error(message, console);
    return kUserError;
  };
  const auto is_bug = [&](const std::string& message) {
    say_bug(message, console);
    return kBug;
  };
  const auto lacks_memory = [&] {
    return fails("not enough memory: this process may have " +
                 memory_text(static_cast<double>(available_memory())) +
                 "\n  hint: fewer threads need less, as do smaller inputs");
  };
  try {
    require_processor();
    return dispatch(words, console);
  } catch (const BrokenPipe&) {
    return 0;
  } catch (const Error& error) {
    return error.code() == ErrorCode::kInternal ? is_bug(error.what()) : fails(error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    return fails(printable(error.path1().string() + ": " + error.code().message()));
  } catch (const std::system_error& error) {
    return fails(printable(error.what()));
  } catch (const std::bad_alloc&) {
    return lacks_memory();
  } catch (const std::length_error&) {  // of a vector with more elements than there are bytes
    return lacks_memory();
  } catch (const std::exception& error) {
    return is_bug(printable(error.what()));
  }
}

}  // namespace
}  // namespace tare::cli

int main(int count, char** words) {
  tare::cli::handle_signals();
  return tare::cli::guarded({words + 1, words + count});
}
