#include "user_files.h"

#include "tare/model_files.h"

#include "printing/layout.h"
#include "text.h"

namespace tare::cli {
std::unique_ptr<Dataset> open_samples(const std::filesystem::path& path,
                                      const std::string& model, const Config& config,
                                      const Console* console, std::vector<std::string>& notes) {
  const auto note = [&](const std::string& text) {
    notes.push_back(text);
    if (console != nullptr) {
      console->say(wrapped("note: " + printable(text), 2, console->err().columns) + "\n");
    }
  };
  return tare::open_samples(path, model, config, Toolkit::builtin(), kUserFile, note);
}

std::unique_ptr<Dataset> open_samples(const std::filesystem::path& path,
                                      const std::string& model, const Config& config,
                                      const Console& console) {
  std::vector<std::string> notes;
  return open_samples(path, model, config, &console, notes);
}

}  // namespace tare::cli
