// Matches names against wildcards. On a mismatch only the last * has to take one character
// more: what an earlier one could take instead, the last one can as well. So there is no
// recursion, and the time is at most the product of both lengths.
#include "tare/config.h"

#include <cstddef>
#include <string_view>

namespace tare {

bool glob_match(std::string_view glob, std::string_view text) {
  // Where the last * stands and what it covers: on a mismatch it takes one character more.
  // Earlier ones need no second look, so the time is at most glob * text.
  std::size_t star = std::string_view::npos;
  std::size_t covered = 0;
  std::size_t g = 0;
  std::size_t t = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      covered = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++covered;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == std::string_view::npos;
}

}  // namespace tare
