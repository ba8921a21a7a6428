#pragma once

#include "tare/quant_table.h"

#include "io/config_rules.h"

#include <cstdint>
#include <string>

namespace tare {

// What the keys of table files take, beside what configurations have.

/// That text and no other; the reason is for the message.
Rule<std::string> only(const std::string& text, const std::string& reason);
Rule<std::uint64_t> hexadecimal_number();
/// [LOW, HIGH], in that order.
Rule<Range> low_and_high();
/// Two numbers in [0,1].
Rule<Clipped> two_shares();

}  // namespace tare
