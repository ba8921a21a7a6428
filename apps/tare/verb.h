#pragma once

#include "flags.h"
#include "printing/console.h"

#include <functional>
#include <string>
#include <vector>

namespace tare::cli {

/// What users want to do, in the order in which they come to it; help groups verbs by it.
enum class Task {
  kQuantize,
  kEvaluate,
  kExplain,
  kParts,  ///< files and pieces of work
  kShell,
};

struct Verb {
  Task task;
  std::string summary;
  std::vector<Argument> arguments;
  std::vector<Flag> flags;            ///< without the common ones
  std::vector<std::string> examples;  ///< whole commands
  /// Returns the exit status: 0, or 1 when a stated requirement failed.
  std::function<int(const Options&, const Console&)> run;
  /// Whether it does so among the ranks of MPI, with these options; otherwise, and where this
  /// is empty, the first rank does all, and the others end.
  std::function<bool(const Options&)> shares_work{};
};

struct NamedVerb {
  std::string name;
  Verb verb;

  Syntax syntax() const;
};

/// Every file in verbs/, sorted by name.
std::vector<NamedVerb> verbs();

}  // namespace tare::cli

/// Entry point of a file in verbs/; the file name is `stem` and what the user types.
#define TARE_VERB(stem) ::tare::cli::Verb tare_verb_##stem()
