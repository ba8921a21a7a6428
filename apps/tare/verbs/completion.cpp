// Prints what makes a shell complete the words of this program.
#include "help/completion.h"

#include "text.h"
#include "verb.h"

namespace tare::cli {
namespace {

int run_completion(const Options& options, const Console& console) {
  const std::string shell = options.text("SHELL");
  const std::string script = completion_script(shell, verbs());
  console.print(options.has("json") ? to_text(Json{{"shell", shell}, {"script", script}})
                                    : script);
  return 0;
}

}  // namespace
}  // namespace tare::cli

TARE_VERB(completion) {
  using namespace tare::cli;
  return {.task = Task::kShell,
          .summary = "print a shell's completion script",
          .arguments = {{.name = "SHELL",
                         .summary = "the shell to print it for",
                         .choices = completing_shells()}},
          .flags = {},
          .examples = {"tare completion bash > ~/.local/share/bash-completion/completions/tare",
                       "source <(tare completion bash)"},
          .run = run_completion};
}
