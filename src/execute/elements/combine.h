#pragma once

#include "tare/error.h"

#include "execute/elements/dispatch.h"

#include <array>

namespace tare {

/// What a scattered update does to the element it meets.
enum class Combine : std::uint8_t { kReplace, kAdd, kMultiply };

/// The attribute "reduction".
inline Combine combine_of(const KernelRequest& request) {
  const std::string name = request.attributes().text("reduction", "none");
  if (name == "none") {
    return Combine::kReplace;
  }
  if (name != "add" && name != "mul") {
    throw Error(ErrorCode::kUnsupported, "", "reduction '" + name + "'")
        .expected("none, add or mul");
  }
  return name == "add" ? Combine::kAdd : Combine::kMultiply;
}

template <class T>
T combined(Combine how, T element, T update) {
  if (how == Combine::kReplace) {
    return update;
  }
  // Integers wrap around.
  using Wide = std::conditional_t<std::is_integral_v<T>, std::uint64_t, Compute<T>>;
  const auto a = static_cast<Wide>(element);
  const auto b = static_cast<Wide>(update);
  return convert<T>(how == Combine::kAdd ? a + b : a * b);
}

}  // namespace tare
