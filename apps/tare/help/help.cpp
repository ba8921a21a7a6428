#include "help/help.h"

#include "printing/layout.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace tare::cli {
namespace {

using Row = std::pair<std::string, std::string>;

/// Two columns, the left one as wide as it must be, or wider.
std::string table(const std::vector<Row>& rows, const Terminal& terminal,
                  std::size_t width = 0) {
  for (const auto& [left, right] : rows) {
    width = std::max(width, left.size());
  }
  // Where the right column had no room for words, it goes below the left one.
  constexpr std::size_t kRoom = 38;
  constexpr std::size_t kBelow = 6;
  const bool is_narrow = width + kRoom > terminal.help_columns;
  std::string text;
  for (const auto& [left, right] : rows) {
    const std::string name = fmt::format("  {}", terminal.styled(Style::kName, left));
    if (is_narrow) {
      text += name + "\n";
      text += wrapped(fmt::format("{:{}}{}", "", kBelow, right), kBelow, terminal.help_columns);
    } else {
      text += wrapped(name + std::string(width - left.size() + 2, ' ') + right, width + 4,
                      terminal.help_columns);
    }
    text += "\n";
  }
  return text;
}

std::string heading(const std::string& text, const Terminal& terminal) {
  return terminal.styled(Style::kHeading, text + ":") + "\n";
}

/// Commands stay as they are typed, whatever their length.
std::string examples(const std::vector<std::string>& commands, const Terminal& terminal) {
  std::string text = fmt::format("\n{}", heading("examples", terminal));
  for (const std::string& command : commands) {
    text += "  " + command + "\n";
  }
  return text;
}

std::string with_value(const Flag& flag, const std::string& spelled) {
  return flag.value.empty() ? spelled : spelled + " " + flag.value;
}

std::string with_choices(const std::string& summary, const std::vector<std::string>& choices) {
  return choices.empty() ? summary : fmt::format("{}: {}", summary, fmt::join(choices, ", "));
}

Row flag_row(const Flag& flag) {
  const std::string letter = flag.letter != 0 ? fmt::format("-{}, ", flag.letter) : "    ";
  return {letter + with_value(flag, flag.spelled()), full_summary(flag)};
}

}  // namespace

std::string full_summary(const Argument& argument) {
  return with_choices(argument.summary, argument.choices);
}

std::string full_summary(const Flag& flag) {
  std::string summary = with_choices(flag.summary, flag.choices);
  summary += flag.or_file ? ", or a YAML file" : "";
  if (!flag.fallback.empty()) {
    summary += " (default " + flag.fallback + ")";
  }
  if (flag.repeated) {
    summary += "; may be given again";
  }
  return summary;
}

std::string usage(const Syntax& syntax) {
  std::string text = "tare " + syntax.verb;
  for (const Argument& argument : syntax.arguments) {
    text += argument.optional ? " [" + argument.name + "]" : " " + argument.name;
  }
  for (const Flag& flag : syntax.flags) {
    if (flag.required) {
      text += fmt::format(" {}", with_value(flag, flag.briefly()));
    }
  }
  return text + " [options]";
}

std::string general_help(const std::vector<NamedVerb>& all, const Terminal& terminal) {
  constexpr std::array<std::pair<Task, const char*>, 5> kTasks{
      {{Task::kQuantize, "quantize a model"},
       {Task::kEvaluate, "run and evaluate it"},
       {Task::kExplain, "look into it"},
       {Task::kParts, "convert, and calibrate in parts"},
       {Task::kShell, "set up a shell"}}};
  std::size_t width = 0;
  for (const NamedVerb& named : all) {
    width = std::max(width, named.name.size());
  }
  std::string verbs;
  std::vector<std::string> commands;
  for (const auto& [task, title] : kTasks) {
    std::vector<Row> rows;
    for (const NamedVerb& named : all) {
      if (named.verb.task == task) {
        rows.emplace_back(named.name, named.verb.summary);
      }
      if (named.verb.task == task && (task == Task::kQuantize || task == Task::kEvaluate)) {
        commands.push_back(named.verb.examples.front());
      }
    }
    verbs += heading(title, terminal) + table(rows, terminal, width) + "\n";
  }
  return wrapped(fmt::format("tare {}: {}", TARE_VERSION, kPurpose), 2, terminal.help_columns) +
         "\n\nusage: tare VERB ARGUMENTS [options]\n\n" + verbs + heading("help", terminal) +
         table({{"tare help VERB", "arguments, options and examples of a verb"},
                {"tare help config", "a configuration file with all keys, explained"},
                {"tare help man", "all help as the source of a manual page"},
                {"tare --version", "the versions of tare and of its libraries"}},
               terminal) +
         examples(commands, terminal);
}

std::string verb_help(const NamedVerb& named, const Terminal& terminal) {
  const Syntax syntax = named.syntax();
  std::vector<Row> arguments;
  for (const Argument& argument : syntax.arguments) {
    arguments.emplace_back(argument.name, full_summary(argument));
  }
  std::vector<Row> flags;
  std::transform(syntax.flags.begin(), syntax.flags.end(), std::back_inserter(flags), flag_row);
  return wrapped(terminal.styled(Style::kHeading, named.name) + ": " + named.verb.summary, 2,
                 terminal.help_columns) +
         "\n\n" + wrapped("usage: " + usage(syntax), 9, terminal.help_columns) + "\n\n" +
         table(arguments, terminal) + "\n" + heading("options", terminal) +
         table(flags, terminal) + examples(named.verb.examples, terminal);
}

}  // namespace tare::cli
