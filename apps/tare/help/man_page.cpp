#include "help/man_page.h"

#include "tare/config.h"
#include "tare/toolkit.h"

#include "help/help.h"

#include <fmt/format.h>

namespace tare::cli {
namespace {

/// Text of which roff takes nothing for a request, an escape or a hyphen.
std::string plain(const std::string& text) {
  std::string result = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char c : text) {
    result += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
  }
  return result;
}

/// The argument of a request: one word, whatever it holds.
std::string roff_quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : plain(text)) {
    result += c == '"' ? "\"\"" : std::string(1, c);
  }
  return result + "\"";
}

std::string item(const std::string& tag, const std::string& text) {
  return ".TP\n" + tag + "\n" + plain(text) + "\n";
}

std::string bold(const std::string& text) {
  return "\\fB" + plain(text) + "\\fR";
}

std::string flag_item(const Flag& flag) {
  std::string tag = flag.letter == 0 ? "" : bold(flag.briefly()) + ", ";
  tag += bold(flag.spelled());
  if (!flag.value.empty()) {
    tag += " \\fI" + plain(flag.value) + "\\fR";
  }
  return item(tag, full_summary(flag));
}

std::string as_typed(const std::vector<std::string>& lines) {
  std::string text = ".PP\n.nf\n";
  for (const std::string& line : lines) {
    text += plain(line) + "\n";
  }
  return text + ".fi\n";
}

std::string verb_section(const NamedVerb& named) {
  const Syntax syntax = named.syntax();
  std::string text = ".SS " + roff_quoted(named.name) + "\n" + plain(named.verb.summary) +
                     "\n" + as_typed({usage(syntax)});
  for (const Argument& argument : syntax.arguments) {
    text += item("\\fI" + plain(argument.name) + "\\fR", full_summary(argument));
  }
  for (const Flag& flag : syntax.flags) {
    text += flag_item(flag);
  }
  return text + ".PP\nFor example:\n" + as_typed(named.verb.examples);
}

}  // namespace

std::string man_page(const std::vector<NamedVerb>& all) {
  // Without a date, which the same program would print differently on another day.
  std::string text = ".TH TARE 1 \"\" " + roff_quoted("tare " TARE_VERSION) +
                     " \"User Commands\"\n.SH NAME\ntare \\- " + kPurpose +
                     "\n.SH SYNOPSIS\n.nf\n" + plain("tare VERB ARGUMENTS [options]") + "\n" +
                     plain("tare help VERB") + "\n.fi\n.SH VERBS\n";
  for (const NamedVerb& named : all) {
    text += verb_section(named);
  }
  text += ".SH CONFIGURATION\nKeys of a configuration file (YAML).\n";
  for (const ConfigKey& key : config_keys(Toolkit::builtin().calibrator_names())) {
    text += item(bold(key.path), key.values + ".") + ".br\n" + plain(key.summary) + "\n";
  }
  text += ".SS targets\n";
  for (const std::string& name : target_names()) {
    text += item(bold(name), read_target(name).summary);
  }
  text += ".SH EXIT STATUS\n";
  for (const auto& [status, meaning] : {std::pair{"0", "done"},
                                        {"1", "done, but a stated requirement failed"},
                                        {"2", "failed, for a reason that the user can fix"},
                                        {"70", "a bug of tare"}}) {
    text += item(bold(status), meaning);
  }
  return text;
}

}  // namespace tare::cli
