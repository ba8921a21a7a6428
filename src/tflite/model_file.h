#pragma once

#include "tare/node.h"

#include "tflite/schema_generated.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tare::tflite {

/// A tensor of the file, in the order of elements that the file has.
struct FileTensor {
  std::string name;  ///< as in the file where there is one; no two tensors share it
  /// With parameters where 8- or 16-bit integers have some. Those of 32 bits are biases, whose
  /// scales follow from the operands, or plain integers.
  TensorType type;
  /// What the file says of an integer of 32 bits, for QUANTIZE and DEQUANTIZE.
  std::optional<QuantParams> wide;
  std::optional<Tensor> constant;
  /// Keeps its elements from one call of an interpreter to the next. In a graph, which is one
  /// call, they are the real 0 that the first one finds.
  bool is_variable = false;
  std::string refusal;  ///< what of it means nothing here, for an error; usually empty
};

struct FileOperator {
  schema::Builtin code = schema::Builtin_CUSTOM;
  std::string name;  ///< "CONV_2D", or of a custom operator its own name
  /// Indices of tensors; -1: the optional operand is absent.
  std::vector<int> inputs;
  std::vector<int> outputs;
  /// Tensors that nothing reads or writes: what their parameters say is how the operator stores
  /// values between its steps.
  std::vector<int> intermediates;
  const schema::Operator* options = nullptr;  ///< lives as long as the file
};

/// The main graph of a file, checked: offsets lie inside, tensors exist, constants have as many
/// bytes as their shapes say, parameters are valid, each tensor is written once and before it
/// is read.
class ModelFile {
 public:
  /// Throws Error(kIo), Error(kInvalidModel), or Error(kUnsupported) for another version of the
  /// format.
  explicit ModelFile(const std::filesystem::path&);
  explicit ModelFile(std::vector<std::byte> bytes);
  ModelFile(const ModelFile&) = delete;
  ModelFile& operator=(const ModelFile&) = delete;

  std::string graph_name;
  std::vector<FileTensor> tensors;
  std::vector<FileOperator> operators;
  std::vector<int> inputs;
  std::vector<int> outputs;

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace tare::tflite
