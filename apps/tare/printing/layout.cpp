#include "printing/layout.h"

#include "printing/terminal.h"
#include "text.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace tare::cli {
namespace {

/// Where the characters of a UTF-8 text begin, and its end. Other bytes are one each.
std::vector<std::size_t> boundaries(const std::string& text) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U) {
      result.push_back(i);
    }
  }
  result.push_back(text.size());
  return result;
}

/// Styles take none.
std::size_t columns(const std::string& text) {
  std::size_t count = boundaries(text).size() - 1;
  for (std::size_t at = text.find('\x1b'); at != std::string::npos;
       at = text.find('\x1b', at + 1)) {
    count -= style_length(std::string_view(text).substr(at));
  }
  return count;
}

}  // namespace

std::string shortened(const std::string& name, std::size_t width) {
  const std::string text = printable(name);
  const std::vector<std::size_t> ends = boundaries(text);
  const std::size_t length = ends.size() - 1;
  constexpr std::size_t kDots = 3;
  if (length <= width || width <= kDots) {
    return text;
  }
  // What differs between the layers of a network is more often at the end.
  const std::size_t head = (width - kDots) * 2 / 5;
  const std::size_t tail = width - kDots - head;
  return text.substr(0, ends[head]) + "..." + text.substr(ends[length - tail]);
}

std::string with_short_names(const std::string& message, std::size_t width) {
  std::string result;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t open = message.find('\'', begin);
    const std::size_t close = open == std::string::npos ? open : message.find('\'', open + 1);
    if (close == std::string::npos) {
      return result + printable(message.substr(begin));
    }
    result += printable(message.substr(begin, open + 1 - begin)) +
              shortened(message.substr(open + 1, close - open - 1), width) + "'";
    begin = close + 1;
  }
}

std::string wrapped(const std::string& line, std::size_t indent, std::size_t width) {
  std::string result;
  std::size_t column = 0;
  std::size_t begin = 0;
  while (begin < line.size()) {
    // Spaces before a word belong to it, so that what is aligned stays so.
    const std::size_t word = line.find_first_not_of(' ', begin);
    const std::size_t end = std::min(line.find(' ', std::min(word, line.size())), line.size());
    const std::string piece = line.substr(begin, end - begin);
    if (column > indent && column + columns(piece) > width) {
      const std::string bare = line.substr(word, end - word);
      result.append("\n").append(indent, ' ').append(bare);
      column = indent + columns(bare);
    } else {
      result += piece;
      column += columns(piece);
    }
    begin = end;
  }
  return result;
}

}  // namespace tare::cli
