#include "help/completion.h"

#include <fmt/format.h>

namespace tare::cli {
namespace {

using Verbs = std::vector<NamedVerb>;
using Words = std::vector<std::string>;

/// One word of any of the shells.
std::string in_quotes(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    result += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return result + "'";
}

std::string spaced(const Words& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

Words names(const Verbs& verbs) {
  Words result;
  for (const NamedVerb& named : verbs) {
    result.push_back(named.name);
  }
  return result;
}

/// What `tare help` explains.
Words topics(const Verbs& verbs) {
  Words result = names(verbs);
  result.insert(result.end(), {"config", "man"});
  return result;
}

Words spellings(const Flag& flag) {
  return flag.letter == 0 ? Words{flag.spelled()} : Words{flag.briefly(), flag.spelled()};
}

/// A value that only the user knows, such as a number.
bool is_free(const Flag& flag) {
  return !flag.value.empty() && flag.value != "FILE" && flag.value != "PATH" &&
         flag.choices.empty();
}

std::string bash_verb(const NamedVerb& named) {
  std::string text;
  Words flags;
  for (const Flag& flag : named.syntax().flags) {
    flags.push_back(flag.spelled());
    for (const std::string& spelled : spellings(flag)) {
      const std::string place = in_quotes(named.name + " " + spelled);
      if (!flag.choices.empty()) {
        text += fmt::format("    {}) choices={} ;;\n", place, in_quotes(spaced(flag.choices)));
      } else if (is_free(flag)) {
        text += fmt::format("    {}) return ;;\n", place);
      }
    }
  }
  Words choices;
  for (const Argument& argument : named.verb.arguments) {
    choices.insert(choices.end(), argument.choices.begin(), argument.choices.end());
  }
  return text + fmt::format(
                    "    {}*)\n      choices={}\n"
                    "      [[ $word == -* ]] && choices={} ;;\n",
                    in_quotes(named.name + " "), in_quotes(spaced(choices)),
                    in_quotes(spaced(flags)));
}

std::string bash(const Verbs& verbs) {
  std::string text = R"(# Completion of tare for bash, made by 'tare completion bash'.
_tare() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} choices=
  COMPREPLY=()
  # The shell takes --form=qdq for three words.
  if [[ $word == = ]]; then
    word=
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD-2]}
  fi
  local place="${COMP_WORDS[1]} $before"
  (( COMP_CWORD == 1 )) && place=
  case $place in
)";
  text += fmt::format("    '') choices={} ;;\n",
                      in_quotes(spaced(names(verbs)) + " help --help --version"));
  text += fmt::format("    'help help') choices={} ;;\n", in_quotes(spaced(topics(verbs))));
  text += "    'help '*) return ;;\n";
  for (const NamedVerb& named : verbs) {
    text += bash_verb(named);
  }
  return text + R"(  esac
  if [[ $choices ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
  else
    compopt -o default  # names of files
  fi
}
complete -F _tare tare
)";
}

/// Text within a specification of _arguments or _describe.
std::string zsh_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    result += std::string(c == ':' || c == '[' || c == ']' || c == '\\' ? "\\" : "") + c;
  }
  return result;
}

std::string zsh_values(const std::string& name, const Words& choices, bool is_free) {
  const std::string action = is_free           ? " "
                             : choices.empty() ? "_files"
                                               : fmt::format("({})", spaced(choices));
  return fmt::format(":{}:{}", zsh_text(name), action);
}

std::string zsh_verb(const NamedVerb& named) {
  std::string text = fmt::format("    {}) _arguments", named.name);
  for (const Argument& argument : named.verb.arguments) {
    const std::string place = argument.repeated ? "*" : argument.optional ? ":" : "";
    text +=
        " \\\n      " + in_quotes(place + zsh_values(argument.name, argument.choices, false));
  }
  for (const Flag& flag : named.syntax().flags) {
    const Words all = spellings(flag);
    for (const std::string& spelled : all) {
      const std::string once = flag.repeated ? "*" : fmt::format("({})", spaced(all));
      const char* join = !flag.value.empty() && spelled.starts_with("--") ? "=" : "";
      const std::string values =
          flag.value.empty() ? "" : zsh_values(flag.value, flag.choices, is_free(flag));
      text += " \\\n      " + in_quotes(fmt::format("{}{}{}[{}]{}", once, spelled, join,
                                                    zsh_text(flag.summary), values));
    }
  }
  return text + " ;;\n";
}

std::string zsh(const Verbs& verbs) {
  std::string text = R"(#compdef tare
# Completion of tare for zsh, made by 'tare completion zsh'.
compdef _tare tare
_tare() {
  local -a verbs=(
)";
  for (const NamedVerb& named : verbs) {
    text += "    " + in_quotes(named.name + ":" + named.verb.summary) + "\n";
  }
  text += fmt::format(R"(    'help:explain a verb')
  if (( CURRENT == 2 )); then
    _describe verb verbs
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
    help) _arguments {} ;;
)",
                      in_quotes(zsh_values("VERB", topics(verbs), false)));
  for (const NamedVerb& named : verbs) {
    text += zsh_verb(named);
  }
  return text + R"(  esac
}
# The file is the function where a folder of $fpath holds it.
[[ $funcstack[1] != _tare ]] || _tare "$@"
)";
}

std::string fish_verb(const NamedVerb& named) {
  const std::string start =
      fmt::format("complete -c tare -n '__fish_seen_subcommand_from {}'", named.name);
  std::string text;
  for (const Argument& argument : named.verb.arguments) {
    if (!argument.choices.empty()) {
      text += fmt::format("{} -f -a {}\n", start, in_quotes(spaced(argument.choices)));
    }
  }
  for (const Flag& flag : named.syntax().flags) {
    text += start + (flag.letter == 0 ? "" : fmt::format(" -s {}", flag.letter)) + " -l " +
            flag.name;
    if (!flag.choices.empty()) {
      text += " -x -a " + in_quotes(spaced(flag.choices));
    } else if (!flag.value.empty()) {
      text += is_free(flag) ? " -x" : " -r -F";
    }
    text += " -d " + in_quotes(flag.summary) + "\n";
  }
  return text;
}

std::string fish(const Verbs& verbs) {
  std::string text = "# Completion of tare for fish, made by 'tare completion fish'.\n";
  for (const NamedVerb& named : verbs) {
    text += fmt::format("complete -c tare -n __fish_use_subcommand -f -a {} -d {}\n",
                        named.name, in_quotes(named.verb.summary));
  }
  text += "complete -c tare -n __fish_use_subcommand -f -a help -d 'explain a verb'\n";
  text += fmt::format("complete -c tare -n '__fish_seen_subcommand_from help' -f -a {}\n",
                      in_quotes(spaced(topics(verbs))));
  for (const NamedVerb& named : verbs) {
    text += fish_verb(named);
  }
  return text;
}

}  // namespace

std::vector<std::string> completing_shells() {
  return {"bash", "zsh", "fish"};
}

std::string completion_script(const std::string& shell, const Verbs& verbs) {
  return shell == "bash" ? bash(verbs) : shell == "zsh" ? zsh(verbs) : fish(verbs);
}

}  // namespace tare::cli
