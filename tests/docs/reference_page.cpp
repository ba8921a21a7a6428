#include "docs/reference_page.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

std::string line_of(const Row& row) {
  std::string line = "|";
  for (std::string cell : row) {
    for (std::size_t at = 0; (at = cell.find('|', at)) != std::string::npos; at += 2) {
      cell.insert(at, "\\");
    }
    line += cell.empty() ? " |" : " " + cell + " |";
  }
  return line + "\n";
}

}  // namespace

std::string table(const Row& head, const std::vector<Row>& rows) {
  std::string text = line_of(head) + line_of(Row(head.size(), "---"));
  for (const Row& row : rows) {
    text += line_of(row);
  }
  return text;
}

std::string reference_page(std::string_view writer, const std::string& title,
                           const std::string& introduction) {
  std::string text = "<!-- Written by ";
  text.append(writer).append(". -->\n# ").append(title);
  return text.append("\n\n").append(introduction).append("\n\n");
}

void expect_reference_page(const std::string& name, const std::string& text) {
  const std::filesystem::path path =
      std::filesystem::path(TARE_SOURCE_DIR) / "docs/reference" / (name + ".md");
  if (std::getenv("TARE_WRITE_GENERATED") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
  }
  std::ifstream file(path, std::ios::binary);
  const std::string there{std::istreambuf_iterator<char>(file), {}};
  EXPECT_TRUE(there == text) << path << " is out of date; scripts/write_generated.sh writes it";
}

}  // namespace tare::test
