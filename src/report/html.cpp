#include "report/html.h"

#include "base/check.h"
#include "base/hash.h"

#include <array>
#include <string_view>

namespace tare {
namespace {

struct PageFile {
  std::string_view name;
  std::string_view text;
};

// The files of page/. report.html names the others as a page does that is not one file.
constexpr std::array kPages{
#define TARE_X(name, text) PageFile{name, text},
#include "page_html_list.inc"
};
constexpr std::array kStyles{
#include "page_style_list.inc"
};
constexpr std::array kScripts{
#include "page_script_list.inc"
#undef TARE_X
};

void put(std::string& page, std::string_view placeholder, const std::string& text) {
  const std::size_t at = page.find(placeholder);
  check(at != std::string::npos, "a placeholder is missing in report.html");
  page.replace(at, placeholder.size(), text);
}

/// Whether an escape of JSON stands for what is to be seen, and not obeyed, where it is shown.
/// Line feeds and tabs lay out the lines of configuration that the page offers.
bool is_hidden(char escape) {
  return escape == 'u' || escape == 'b' || escape == 'f' || escape == 'r';
}

/// JSON whose strings hold nothing that HTML or JavaScript would take for its own: these
/// characters only occur inside strings, where an escape may stand for each. Characters that
/// json_escaped() has spelled out stay spelled out when the page reads them.
std::string escaped(const std::string& json) {
  std::string result;
  result.reserve(json.size() + json.size() / 16);
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '<') {
      result += "\\u003c";
    } else if (json[i] == '>') {
      result += "\\u003e";
    } else if (json[i] == '&') {
      result += "\\u0026";
    } else if (json[i] == '\\' && i + 1 < json.size()) {
      result += is_hidden(json[i + 1]) ? "\\\\" : "\\";
      result += json[++i];
    } else {
      result += json[i];
    }
  }
  return result;
}

}  // namespace

std::string html_report(const std::string& json) {
  std::string page(kPages.front().text);
  // The policy of the page lets only those scripts and styles through that carry this word.
  const std::string nonce = hexadecimal(hash(json));
  put(page, "script-src 'self'", "script-src 'nonce-" + nonce + "'");
  put(page, "style-src 'self'", "style-src 'nonce-" + nonce + "'");
  for (const PageFile& file : kStyles) {
    put(page, "<link rel=\"stylesheet\" href=\"" + std::string(file.name) + ".css\">",
        "<style nonce=\"" + nonce + "\">\n" + std::string(file.text) + "</style>");
  }
  for (const PageFile& file : kScripts) {
    put(page, "<script src=\"" + std::string(file.name) + ".js\"></script>",
        "<script nonce=\"" + nonce + "\">\n" + std::string(file.text) + "</script>");
  }
  put(page, "{}</script>", escaped(json_escaped(json)) + "</script>");
  return page;
}

}  // namespace tare
