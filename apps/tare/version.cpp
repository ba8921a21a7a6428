#include "version.h"

#include "tare/process.h"

#include <fmt/format.h>

namespace tare::cli {

std::string version_text() {
  std::string text = "tare " TARE_VERSION "\n";
  for (const Library& library : libraries()) {
    text += fmt::format("  {:<18}{}{}{}\n", library.name, library.version,
                        library.features.empty() ? "" : ", uses ", library.features);
  }
  return text;
}

}  // namespace tare::cli
