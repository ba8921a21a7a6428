#include "cli/program.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include <sys/wait.h>

namespace tare {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Outcome run_in(const std::filesystem::path& folder, const std::string& command) {
  const std::string out = folder.string() + ".stdout";
  const std::string err = folder.string() + ".stderr";
  const int status = std::system(("cd '" + folder.string() +
                                  "' && PATH='" TARE_PROGRAM_FOLDER "':\"$PATH\" && {\n" +
                                  command + "\n} > '" + out + "' 2> '" + err + "'")
                                     .c_str());
  Outcome outcome{WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(out), text_of(err)};
  std::filesystem::remove(out);
  std::filesystem::remove(err);
  return outcome;
}

}  // namespace tare
