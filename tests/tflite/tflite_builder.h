#pragma once

#include "tare/tensor.h"

#include "tflite/model_file.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tare::test {

/// Parameters as files have them; nothing keeps them from being wrong.
struct FileQuantization {
  std::vector<float> scale;
  std::vector<std::int64_t> zero_point;
  int dimension = 0;
};

/// A .tflite file in the making, field by field.
class TfliteBuilder {
 public:
  TfliteBuilder();

  struct TensorSpec {
    std::string name;
    Shape shape;
    tflite::schema::TensorType type = tflite::schema::TensorType_FLOAT32;
    std::optional<FileQuantization> quantization{};
    std::vector<std::byte> data{};  ///< empty: computed
    std::vector<int> signature{};
    bool is_variable = false;
  };
  int tensor(const TensorSpec&);
  int constant(const std::string& name, const Tensor& values,
               std::optional<FileQuantization> = {});
  /// A computed tensor, or an input.
  int value(const std::string& name, Shape shape,
            tflite::schema::TensorType = tflite::schema::TensorType_FLOAT32,
            std::optional<FileQuantization> = {});

  /// The same, of the shape and type that these values have.
  int computed(const std::string& name, const Tensor& like,
               std::optional<FileQuantization> = {});

  /// A state of that shape and type.
  int variable(const std::string& name, const Tensor& like,
               std::optional<FileQuantization> = {});

  /// The next operator has this tensor for what it stores between its steps, behind others.
  void intermediate(int tensor) { intermediates_.push_back(tensor); }

  /// Makes the options in the builder that it is given; none where it is empty.
  using Options = std::function<flatbuffers::Offset<void>(flatbuffers::FlatBufferBuilder&)>;
  void op(tflite::schema::Builtin, std::vector<int> inputs, std::vector<int> outputs,
          tflite::schema::BuiltinOptions = tflite::schema::BuiltinOptions_NONE,
          const Options& = {});

  /// A custom operator of that name, with options in whatever form it has.
  void custom_op(const std::string& name, std::vector<int> inputs, std::vector<int> outputs,
                 const std::vector<std::uint8_t>& options);

  std::vector<std::byte> finish(const std::vector<int>& inputs,
                                const std::vector<int>& outputs);

 private:
  flatbuffers::FlatBufferBuilder builder_;
  std::vector<int> intermediates_;
  std::vector<flatbuffers::Offset<tflite::schema::Tensor>> tensors_;
  std::vector<flatbuffers::Offset<tflite::schema::Buffer>> buffers_;
  std::vector<flatbuffers::Offset<tflite::schema::Operator>> operators_;
  std::vector<flatbuffers::Offset<tflite::schema::OperatorCode>> codes_;
};

/// Options of a custom operator, as a map in FlexBuffers; whole numbers as integers.
std::vector<std::uint8_t> flexbuffer_map(const std::map<std::string, double>&);

/// Parameters of a whole tensor.
FileQuantization per_tensor(float scale, std::int64_t zero_point);

/// A network of a dozen operators, quantized per axis where weights have channels:
/// convolutions, a residual, pools, a dense layer, Softmax.
std::vector<std::byte> small_quantized_network();
/// The same operators in float32.
std::vector<std::byte> small_float_twin();
/// Splits, concatenations, slices, transposes, resizes and activations, in uint8.
std::vector<std::byte> small_moving_network();
/// A convolution and a dense layer in float32, with options that are left out.
std::vector<std::byte> small_float_network();

}  // namespace tare::test
