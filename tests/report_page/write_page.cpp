// usage: write_page REPORT.json PAGE.html
#include "report/html.h"

#include <fstream>
#include <iterator>

int main(int argc, char** argv) {
  if (argc != 3) {
    return 2;
  }
  std::ifstream in(argv[1], std::ios::binary);
  const std::string json((std::istreambuf_iterator<char>(in)), {});
  std::ofstream out(argv[2], std::ios::binary);
  out << tare::html_report(json);
  return in && out.flush() ? 0 : 1;
}
