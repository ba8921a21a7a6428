#pragma once

#include "tare/graph.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tare {

/// Whose arithmetic operators on storage values follow, where engines round differently. Nodes
/// of an integer graph have it in their attribute `numerics`, those of another arithmetic than
/// ONNX Runtime's; Requantize says in attributes of its own how it rounds. docs/tflite.md has
/// the operators of each.
enum class Numerics : std::uint8_t {
  kOnnxRuntime,   ///< ONNX's, but sums and products of bytes add the zero point, then round
  kOnnx,          ///< rounds once, halves to even
  kTvmUpward,     ///< TVM, rounding "UPWARD"
  kTvmToNearest,  ///< TVM, rounding "TONEAREST"
  kTfliteRef,     ///< reference kernels of TensorFlow Lite, as in its port for microcontrollers
  kTfliteBuiltin,  ///< optimized kernels of TensorFlow Lite
  kTfliteXnn,      ///< XNNPACK, which TensorFlow Lite runs unless told otherwise
};

/// "onnxruntime", "onnx", "tvm_upward", "tvm_tonearest", "tflite_ref", "tflite_builtin",
/// "tflite_xnn".
std::string_view name_of(Numerics);
std::vector<std::string> numerics_names();
/// Throws Error(kInvalidConfig) for a name that is not in the list above.
Numerics numerics_from_name(std::string_view);

/// What the attribute says; kOnnxRuntime where it is absent. Throws Error(kInvalidModel) for
/// other words.
Numerics numerics(const Attributes&);
/// Writes it into the attributes; kOnnxRuntime by taking out what is there.
void set_numerics(Attributes&, Numerics);

/// AveragePool on storage values may say in its attribute `tie_breaking_point` that it averages
/// them as the integers they are, between equal parameters, and that what lies halfway between
/// two integers becomes the one further from this tie-breaking point: 0 in TensorFlow Lite.
/// ONNX has a spelling for it, so exported files keep it. Nothing: averages of what storage
/// values stand for, rounded as the node's numerics say.
std::optional<std::int32_t> tie_breaking_point(const Attributes&);
void set_tie_breaking_point(Attributes&, std::optional<std::int32_t>);

}  // namespace tare
