
#include "tare/arithmetic.h"
#include "tare/error.h"
#include "tare/node.h"

#include "graph/arithmetic/node_arithmetic.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

namespace tare {
namespace {

constexpr std::string_view kAttribute = "numerics";
constexpr const char* kHalves = "tie_breaking_point";

struct NamedNumerics {
  Numerics numerics;
  std::string_view name;
};

constexpr std::array kNames{
    NamedNumerics{Numerics::kOnnxRuntime, "onnxruntime"},
    NamedNumerics{Numerics::kOnnx, "onnx"},
    NamedNumerics{Numerics::kTvmUpward, "tvm_upward"},
    NamedNumerics{Numerics::kTvmToNearest, "tvm_tonearest"},
    NamedNumerics{Numerics::kTfliteRef, "tflite_ref"},
    NamedNumerics{Numerics::kTfliteBuiltin, "tflite_builtin"},
    NamedNumerics{Numerics::kTfliteXnn, "tflite_xnn"},
};

std::optional<Numerics> find(std::string_view name) {
  const auto* found = std::find_if(kNames.begin(), kNames.end(),
                                   [&](const NamedNumerics& n) { return n.name == name; });
  return found == kNames.end() ? std::nullopt : std::optional(found->numerics);
}

std::string listed() {
  std::string text;
  for (const NamedNumerics& each : kNames) {
    text += (text.empty() ? "" : &each == &kNames.back() ? " or " : ", ");
    text += each.name;
  }
  return text;
}

}  // namespace

std::string_view name_of(Numerics numerics) {
  return kNames.at(static_cast<std::size_t>(numerics)).name;
}

std::vector<std::string> numerics_names() {
  std::vector<std::string> names;
  for (const NamedNumerics& each : kNames) {
    names.emplace_back(each.name);
  }
  return names;
}

Numerics numerics_from_name(std::string_view name) {
  const auto found = find(name);
  if (!found) {
    throw Error(ErrorCode::kInvalidConfig, "", "numerics is '" + std::string(name) + "'")
        .expected(listed());
  }
  return *found;
}

Numerics numerics(const Attributes& attributes) {
  const std::string name = attributes.text(kAttribute, name_of(Numerics::kOnnxRuntime));
  const auto found = find(name);
  if (!found) {
    throw Error(ErrorCode::kInvalidModel, "", "numerics is '" + name + "'").expected(listed());
  }
  return *found;
}

void set_numerics(Attributes& attributes, Numerics numerics) {
  if (numerics == Numerics::kOnnxRuntime) {
    attributes.erase(kAttribute);
  } else {
    attributes.set(std::string(kAttribute), std::string(name_of(numerics)));
  }
}

std::optional<std::int32_t> tie_breaking_point(const Attributes& attributes) {
  if (!attributes.has(kHalves)) {
    return std::nullopt;
  }
  const std::int64_t centre = attributes.integer(kHalves, 0);
  if (centre < std::numeric_limits<std::int8_t>::min() ||
      centre > std::numeric_limits<std::uint8_t>::max()) {
    throw Error(ErrorCode::kInvalidModel, "",
                std::string(kHalves) + " is " + std::to_string(centre))
        .expected("a storage value of 8 bits");
  }
  return static_cast<std::int32_t>(centre);
}

void set_tie_breaking_point(Attributes& attributes, std::optional<std::int32_t> centre) {
  attributes.erase(kHalves);
  if (centre) {
    attributes.set(kHalves, std::int64_t{*centre});
  }
}

}  // namespace tare
