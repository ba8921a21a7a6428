#include "base/natural_order.h"

#include <algorithm>

namespace tare {
namespace {

constexpr std::string_view kDecimalDigits = "0123456789";

bool is_digit(char c) {
  return kDecimalDigits.find(c) != std::string_view::npos;
}

/// Takes the digits that the text begins with, and returns them without leading zeros.
std::string_view take_number(std::string_view& text) {
  std::string_view number = text.substr(0, text.find_first_not_of(kDecimalDigits));
  text.remove_prefix(number.size());
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return number;
}

}  // namespace

bool comes_before(std::string_view a, std::string_view b) {
  const std::string_view all_of_a = a;
  const std::string_view all_of_b = b;
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view first = take_number(a);
      const std::string_view second = take_number(b);
      if (first != second) {
        return first.size() != second.size() ? first.size() < second.size() : first < second;
      }
    } else if (a.front() != b.front()) {
      return a.front() < b.front();
    } else {
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return a.empty() != b.empty() ? a.empty() : all_of_a < all_of_b;
}

std::string_view before_number(std::string_view name) {
  const std::size_t end = name.find_last_not_of(kDecimalDigits);
  return name.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

}  // namespace tare
