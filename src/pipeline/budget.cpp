// Budgets as texts: "size=0.5MB", "bops=50%".
#include "tare/config.h"
#include "tare/error.h"
#include "tare/search.h"

#include <charconv>
#include <cmath>
#include <string_view>

namespace tare {
namespace {

/// A number that is followed by one of these units, as how many of them; nothing for others.
std::optional<double> number_with_unit(std::string_view text, std::string_view units,
                                       double step) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || !(number > 0) || std::isinf(number) || end - rest > 1) {
    return std::nullopt;
  }
  if (rest == end) {
    return number;
  }
  const std::size_t power = units.find(*rest);
  if (power == std::string_view::npos) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i <= power; ++i) {
    number *= step;
  }
  return number;
}

/// Of "60%".
std::optional<BudgetLimit> share_of(std::string_view text) {
  if (!text.ends_with('%')) {
    return std::nullopt;
  }
  const auto percent = number_with_unit(text.substr(0, text.size() - 1), "", 1);
  constexpr double kAll = 100;
  return percent ? std::optional(BudgetLimit{*percent / kAll, true}) : std::nullopt;
}

std::optional<BudgetLimit> size_limit(std::string_view text) {
  const auto bytes = parse_bytes(text);
  return bytes ? std::optional(BudgetLimit{static_cast<double>(*bytes)}) : share_of(text);
}

std::optional<BudgetLimit> operations_limit(std::string_view text) {
  const auto count = number_with_unit(text, "kMGT", 1000);
  return count ? std::optional(BudgetLimit{*count}) : share_of(text);
}

}  // namespace

Budget read_budget(const std::vector<std::string>& texts) {
  Budget budget;
  Faults faults;
  const auto set = [&](const std::string& where, std::optional<BudgetLimit>& limit,
                       const std::optional<BudgetLimit>& read, const char* expected) {
    if (!read) {
      faults.add(where, "is not understood", expected);
    } else if (limit) {
      faults.add(where, "says again what another one says");
    } else {
      limit = read;
    }
  };
  for (const std::string& text : texts) {
    const std::string where = "budget '" + text + "'";
    const std::string_view value = std::string_view(text).substr(text.find('=') + 1);
    if (text.starts_with("size=")) {
      set(where, budget.size, size_limit(value), "a size such as 500kB, 0.5MB, 2MiB or 60%");
    } else if (text.starts_with("bops=")) {
      set(where, budget.bit_operations, operations_limit(value),
          "a number of bit operations such as 1.5G, or a share such as 50%");
    } else {
      faults.add(where, "limits nothing that is known", "size=BYTES or bops=NUMBER");
    }
  }
  faults.raise(ErrorCode::kInvalidConfig);
  return budget;
}

}  // namespace tare
