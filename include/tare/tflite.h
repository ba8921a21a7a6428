#pragma once

#include "tare/graph.h"
#include "tare/numerics.h"

#include <filesystem>

namespace tare {

/// Reads a TensorFlow Lite model, float or quantized, as a graph of ONNX operators. Each tensor
/// that the file quantizes is a QuantizeLinear (or an input, or a constant) and a
/// DequantizeLinear with the file's scales and zero points, bit for bit, and operators stand
/// between these on real values: from_qdq() and lower() make the canonical integer graph of it,
/// whose `TensorType::point` is the tensor's name. Biases get the product of the scales of what
/// they are added to.
///
/// Images are NCHW inside; inputs and outputs keep the file's shapes. A first extent of -1 in
/// shape signatures is what the file's shapes say, usually 1. See docs/tflite.md for what
/// becomes of each operator.
///
/// `numerics` are those that the graph shall be run with. They matter to RELU6 between two
/// pairs of parameters: the reference kernels, as the port for microcontrollers has them, bound
/// the operand's integers and do not rescale them, and for Numerics::kTfliteRef the graph does
/// the same.
///
/// Throws Error(kIo), Error(kInvalidModel) (not such a file, or it breaks the format's rules),
/// or Error(kUnsupported) (all unsupported operators and tensors at once).
Graph read_tflite(const std::filesystem::path&, Numerics numerics = Numerics::kOnnxRuntime);

}  // namespace tare
