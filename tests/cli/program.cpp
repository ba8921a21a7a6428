#include "cli/program.h"

#include "support/files/files.h"

#include <cstdlib>

#include <sys/wait.h>

namespace tare::test {

Outcome run_in(const std::filesystem::path& folder, const std::string& command) {
  const std::string out = folder.string() + ".stdout";
  const std::string err = folder.string() + ".stderr";
  const int status = std::system(("cd '" + folder.string() +
                                  "' && PATH='" TARE_PROGRAM_FOLDER "':\"$PATH\" && {\n" +
                                  command + "\n} > '" + out + "' 2> '" + err + "'")
                                     .c_str());
  Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : -1, bytes_of(out), bytes_of(err)};
  std::filesystem::remove(out);
  std::filesystem::remove(err);
  return outcome;
}

}  // namespace tare::test
