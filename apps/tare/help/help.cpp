#include "help/help.h"

#include "tare/config.h"
#include "tare/quantize.h"

#include "printing/layout.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace tare::cli {
namespace {

using Row = std::pair<std::string, std::string>;

/// Two columns, the left one as wide as it must be.
std::string table(const std::vector<Row>& rows) {
  std::size_t width = 0;
  for (const auto& [left, right] : rows) {
    width = std::max(width, left.size());
  }
  std::string text;
  for (const auto& [left, right] : rows) {
    text += wrapped(fmt::format("  {:{}}  {}", left, width, right), width + 4, kHelpColumns);
    text += "\n";
  }
  return text;
}

std::string examples(const std::vector<std::string>& commands) {
  std::string text = "\nexamples:\n";
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

std::string general_help(const std::vector<NamedVerb>& all) {
  std::vector<Row> rows;
  std::vector<std::string> commands;
  for (const NamedVerb& named : all) {
    rows.emplace_back(named.name, named.verb.summary);
    commands.push_back(named.verb.examples.front());
  }
  return fmt::format("tare {}: {}\n\n", TARE_VERSION, kPurpose) +
         "usage: tare VERB ARGUMENTS [options]\n\nverbs:\n" + table(rows) + "\nhelp:\n" +
         table({{"tare help VERB", "arguments and options of a verb"},
                {"tare help config", "keys of a configuration file"},
                {"tare help man", "all help as the source of a manual page"},
                {"tare --version", "the versions of tare and of its libraries"}}) +
         examples(commands);
}

std::string verb_help(const NamedVerb& named) {
  const Syntax syntax = named.syntax();
  std::vector<Row> arguments;
  for (const Argument& argument : syntax.arguments) {
    arguments.emplace_back(argument.name, full_summary(argument));
  }
  std::vector<Row> flags;
  std::transform(syntax.flags.begin(), syntax.flags.end(), std::back_inserter(flags), flag_row);
  return named.name + ": " + named.verb.summary +
         "\n\n"
         "usage: " +
         usage(syntax) + "\n\n" + table(arguments) + "\noptions:\n" + table(flags) +
         examples(named.verb.examples);
}

std::string config_help() {
  std::string text =
      "Keys of a configuration file (YAML). --set KEY=VALUE sets one from the command\n"
      "line, except those of layers.\n\n";
  for (const ConfigKey& key : config_keys(Toolkit::builtin().calibrator_names())) {
    text += wrapped(key.path + ": " + key.values, 4, kHelpColumns) + "\n" +
            wrapped("    " + key.summary, 4, kHelpColumns) + "\n";
  }
  return text + "\ntargets:\n" + [] {
    std::vector<Row> rows;
    for (const std::string& name : target_names()) {
      rows.emplace_back(name, read_target(name).summary);
    }
    return table(rows);
  }();
}

}  // namespace tare::cli
