#include "tflite/model_file.h"

#include "tare/error.h"

#include "base/input_file.h"
#include "base/truth_values.h"
#include "graph/ir/verify.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <span>

namespace tare::tflite {
namespace {

std::vector<std::byte> read_bytes(const std::filesystem::path& path) {
  const InputFile file(path);
  std::vector<std::byte> bytes(static_cast<std::size_t>(file.size()));
  file.read(0, bytes);
  return bytes;
}

std::optional<DType> dtype_of(schema::TensorType type) {
  switch (type) {
    case schema::TensorType_FLOAT32:
      return DType::kFloat32;
    case schema::TensorType_FLOAT16:
      return DType::kFloat16;
    case schema::TensorType_FLOAT64:
      return DType::kFloat64;
    case schema::TensorType_INT8:
      return DType::kInt8;
    case schema::TensorType_UINT8:
      return DType::kUint8;
    case schema::TensorType_INT16:
      return DType::kInt16;
    case schema::TensorType_UINT16:
      return DType::kUint16;
    case schema::TensorType_INT32:
      return DType::kInt32;
    case schema::TensorType_UINT32:
      return DType::kUint32;
    case schema::TensorType_INT64:
      return DType::kInt64;
    case schema::TensorType_UINT64:
      return DType::kUint64;
    case schema::TensorType_BOOL:
      return DType::kBool;
    default:
      return std::nullopt;
  }
}

bool has_parameters(DType dtype) {
  return dtype == DType::kInt8 || dtype == DType::kUint8 || dtype == DType::kInt16;
}

/// Numbers of 8 bytes may be anywhere: the verifier looks at where vectors begin, not at where
/// their elements do.
template <class T>
std::vector<T> to_vector(const flatbuffers::Vector<T>* values) {
  if (values == nullptr || values->size() == 0) {
    return {};
  }
  std::vector<T> result(values->size());
  std::memcpy(result.data(), values->Data(), result.size() * sizeof(T));
  std::transform(result.begin(), result.end(), result.begin(), flatbuffers::EndianScalar<T>);
  return result;
}

[[noreturn]] void invalid(const std::string& where, const std::string& what,
                          const std::string& expected = {}) {
  Error error(ErrorCode::kInvalidModel, where, what);
  if (!expected.empty()) {
    error.expected(expected);
  }
  throw error;
}

/// Turns the tables of a verified buffer into what the importer works on.
class ModelReader {
 public:
  ModelReader(std::span<const std::byte> bytes, ModelFile& file) : bytes_(bytes), file_(file) {}

  void read() {
    flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(bytes_.data()),
                                   bytes_.size());
    if (bytes_.size() < kSmallest || !schema::VerifyModelBuffer(verifier)) {
      invalid("", "is not a TensorFlow Lite model, or is damaged or cut short");
    }
    model_ = schema::GetModel(bytes_.data());
    if (model_->version() != kVersion) {
      throw Error(ErrorCode::kUnsupported, "",
                  "has version " + std::to_string(model_->version()) + " of the format")
          .expected(std::to_string(kVersion));
    }
    if (model_->subgraphs() == nullptr || model_->subgraphs()->size() == 0) {
      invalid("", "has no graph");
    }
    const schema::SubGraph& graph = *model_->subgraphs()->Get(0);
    file_.graph_name = text(graph.name(), "tflite");
    read_tensors(graph);
    read_operators(graph);
    file_.inputs = interface(graph.inputs(), "input");
    file_.outputs = interface(graph.outputs(), "output");
    if (file_.outputs.empty()) {
      invalid("", "the graph has no outputs");
    }
    check_order();
  }

 private:
  static constexpr std::size_t kSmallest = 8;  // a root and the identifier
  static constexpr std::uint32_t kVersion = 3;

  static std::string text(const flatbuffers::String* name, const std::string& otherwise) {
    return name == nullptr || name->size() == 0 ? otherwise : name->str();
  }

  void read_tensors(const schema::SubGraph& graph) {
    Faults faults;
    std::set<std::string> names;
    const std::size_t count = graph.tensors() == nullptr ? 0 : graph.tensors()->size();
    for (std::size_t i = 0; i < count; ++i) {
      const schema::Tensor& tensor = *graph.tensors()->Get(static_cast<unsigned>(i));
      FileTensor read;
      read.name = text(tensor.name(), "tensor_" + std::to_string(i));
      while (!names.insert(read.name).second) {
        read.name.append("_").append(std::to_string(i));
      }
      try {
        read_tensor(tensor, read);
      } catch (const Error& error) {
        for (const Fault& fault : error.faults()) {
          faults.add("tensor '" + read.name + "'", fault.what, fault.expected);
        }
      }
      file_.tensors.push_back(std::move(read));
    }
    faults.raise(ErrorCode::kInvalidModel);
  }

  void read_tensor(const schema::Tensor& tensor, FileTensor& read) const {
    read.refusal = refusal(tensor);
    if (!read.refusal.empty()) {
      return;
    }
    read.type.dtype = *dtype_of(tensor.type());
    const auto extents = to_vector(tensor.shape());
    read.type.shape.assign(extents.begin(), extents.end());
    if (has_parameters(read.type.dtype)) {
      read.type.quant = parameters(tensor, read.type);
      read.type.point = read.type.quant ? read.name : "";
    }
    Faults faults;
    verify_type("", read.type, faults);
    faults.raise(ErrorCode::kInvalidModel);
    read.wide = wide_parameters(tensor);
    read.constant = constant(tensor, read.type);
    read.is_variable = tensor.is_variable();
    if (read.is_variable && read.constant) {
      invalid("", "is a variable, and has a value");
    }
  }

  static std::string refusal(const schema::Tensor& tensor) {
    if (!dtype_of(tensor.type())) {
      const std::string name = schema::EnumNameTensorType(tensor.type());
      return "has elements of type " +
             (name.empty() ? std::to_string(static_cast<int>(tensor.type())) : name);
    }
    const schema::Quantization* quantization = tensor.quantization();
    if (quantization != nullptr &&
        quantization->details_type() != schema::QuantizationDetails_NONE) {
      return "has scales neither of the whole tensor nor along one axis";
    }
    return tensor.sparsity() != nullptr ? "is sparse" : "";
  }

  /// What a tensor without scales holds are plain integers.
  static std::optional<QuantParams> parameters(const schema::Tensor& tensor,
                                               const TensorType& type) {
    const schema::Quantization* quantization = tensor.quantization();
    const auto scale =
        quantization == nullptr ? std::vector<float>{} : to_vector(quantization->scale());
    if (scale.empty()) {
      return std::nullopt;
    }
    const auto zero_point = to_vector(quantization->zero_point());
    QuantParams params{.storage = type.dtype,
                       .scale = scale,
                       .zero_point = {},
                       .axis = {},
                       .narrow_range = false};
    if (zero_point.size() != scale.size()) {
      invalid("",
              "has " + std::to_string(scale.size()) + " scales and " +
                  std::to_string(zero_point.size()) + " zero points",
              "as many of one as of the other");
    }
    std::vector<std::int32_t> zeros;
    for (const std::int64_t zero : zero_point) {
      if (zero != static_cast<std::int32_t>(zero)) {
        invalid("", "has zero point " + std::to_string(zero));
      }
      zeros.push_back(static_cast<std::int32_t>(zero));
    }
    params.zero_point = zeros;
    // The axis of parameters of the whole tensor is any number in real files.
    if (scale.size() > 1) {
      params.axis = quantization->quantized_dimension();
    }
    return params;
  }

  /// Biases have scales that nobody reads, so nothing of these is an error here.
  static std::optional<QuantParams> wide_parameters(const schema::Tensor& tensor) {
    const schema::Quantization* quantization = tensor.quantization();
    if (tensor.type() != schema::TensorType_INT32 || quantization == nullptr) {
      return std::nullopt;
    }
    const auto scale = to_vector(quantization->scale());
    const auto zero_point = to_vector(quantization->zero_point());
    const bool is_one = scale.size() == 1 && zero_point.size() == 1 && scale[0] > 0 &&
                        std::isfinite(scale[0]) &&
                        zero_point[0] == static_cast<std::int32_t>(zero_point[0]);
    if (!is_one) {
      return std::nullopt;
    }
    return QuantParams{.storage = DType::kInt32,
                       .scale = scale,
                       .zero_point = {static_cast<std::int32_t>(zero_point[0])},
                       .axis = {},
                       .narrow_range = false};
  }

  std::optional<Tensor> constant(const schema::Tensor& tensor, const TensorType& type) const {
    const auto bytes = bytes_of(tensor.buffer(), element_count(type.shape) == 0);
    if (!bytes) {
      return std::nullopt;
    }
    // Checked first, so that a damaged shape reserves no memory.
    const std::int64_t wanted =
        element_count(type.shape) * static_cast<std::int64_t>(size_of(type.dtype));
    if (static_cast<std::int64_t>(bytes->size()) != wanted) {
      invalid("", "is a constant of " + std::to_string(bytes->size()) + " bytes",
              std::to_string(wanted) + " for shape " + to_string(type.shape));
    }
    Tensor result(type.dtype, type.shape);
    std::copy(bytes->begin(), bytes->end(), result.mutable_data());
    if (type.dtype == DType::kBool) {
      make_truth_values({result.mutable_data(), result.byte_size()});
    }
    return result;
  }

  /// Nothing for tensors that are computed. Data beyond 2 GB lies behind the tables.
  std::optional<std::span<const std::byte>> bytes_of(std::uint32_t index,
                                                     bool has_no_elements) const {
    const auto* buffers = model_->buffers();
    if (index == 0) {
      return std::nullopt;
    }
    if (buffers == nullptr || index >= buffers->size()) {
      invalid("", "is in buffer " + std::to_string(index) + ", which does not exist");
    }
    const schema::Buffer& buffer = *buffers->Get(index);
    if (buffer.offset() > 1) {
      if (buffer.offset() > bytes_.size() || buffer.size() > bytes_.size() - buffer.offset()) {
        invalid("", "is in a buffer that reaches beyond the end of the file");
      }
      return bytes_.subspan(buffer.offset(), buffer.size());
    }
    if (buffer.data() == nullptr || (buffer.data()->size() == 0 && !has_no_elements)) {
      return std::nullopt;
    }
    return std::as_bytes(std::span(buffer.data()->data(), buffer.data()->size()));
  }

  void read_operators(const schema::SubGraph& graph) {
    const std::size_t count = graph.operators() == nullptr ? 0 : graph.operators()->size();
    for (std::size_t i = 0; i < count; ++i) {
      const schema::Operator& op = *graph.operators()->Get(static_cast<unsigned>(i));
      FileOperator read = kind_of(op.opcode_index());
      read.options = &op;
      read.inputs = operands(op.inputs(), read.name, true);
      read.outputs = operands(op.outputs(), read.name, false);
      read.intermediates = operands(op.intermediates(), read.name, true);
      if (read.outputs.empty()) {
        invalid("operator " + std::to_string(i) + " (" + read.name + ")", "has no results");
      }
      file_.operators.push_back(std::move(read));
    }
  }

  FileOperator kind_of(std::uint32_t index) const {
    const auto* codes = model_->operator_codes();
    if (codes == nullptr || index >= codes->size()) {
      invalid("", "an operator has code " + std::to_string(index) + ", which does not exist");
    }
    const schema::OperatorCode& code = *codes->Get(index);
    FileOperator result;
    // Old files fill one field, new ones the other; where both do, the larger one counts.
    result.code =
        static_cast<schema::Builtin>(std::max(static_cast<int>(code.deprecated_builtin_code()),
                                              static_cast<int>(code.builtin_code())));
    result.name = schema::EnumNameBuiltin(result.code);
    if (result.code == schema::Builtin_CUSTOM) {
      result.name = text(code.custom_code(), result.name);
    } else if (result.name.empty()) {
      result.name = "number " + std::to_string(static_cast<int>(result.code));
    }
    return result;
  }

  std::vector<int> operands(const flatbuffers::Vector<std::int32_t>* indices,
                            const std::string& where, bool may_be_absent) const {
    std::vector<int> result = to_vector(indices);
    for (const int index : result) {
      if (index >= static_cast<int>(file_.tensors.size()) || index < (may_be_absent ? -1 : 0)) {
        invalid(where, "tensor " + std::to_string(index) + " does not exist");
      }
    }
    return result;
  }

  std::vector<int> interface(const flatbuffers::Vector<std::int32_t>* indices,
                             const std::string& what) const {
    std::vector<int> result = operands(indices, "the " + what + "s of the graph", false);
    const std::set<int> different(result.begin(), result.end());
    if (different.size() != result.size()) {
      invalid("", "the graph has one " + what + " twice");
    }
    return result;
  }

  void check_order() const {
    std::vector<bool> known(file_.tensors.size());
    std::vector<bool> refused(file_.tensors.size());
    for (std::size_t i = 0; i < known.size(); ++i) {
      const FileTensor& tensor = file_.tensors[i];
      refused[i] = !tensor.refusal.empty();
      known[i] = tensor.constant.has_value() || tensor.is_variable || refused[i];
    }
    const auto define = [&](int index, const std::string& by) {
      if (known[static_cast<std::size_t>(index)] && !refused[static_cast<std::size_t>(index)]) {
        invalid("tensor '" + file_.tensors[static_cast<std::size_t>(index)].name + "'",
                "is written by " + by + ", and has a value already");
      }
      known[static_cast<std::size_t>(index)] = true;
    };
    const auto require = [&](int index, const std::string& by) {
      if (index >= 0 && !known[static_cast<std::size_t>(index)]) {
        invalid("tensor '" + file_.tensors[static_cast<std::size_t>(index)].name + "'",
                "is read by " + by + " before anything writes it");
      }
    };
    for (const int input : file_.inputs) {
      define(input, "the caller");
    }
    for (const FileOperator& op : file_.operators) {
      for (const int input : op.inputs) {
        require(input, op.name);
      }
      for (const int output : op.outputs) {
        define(output, op.name);
      }
    }
    for (const int output : file_.outputs) {
      require(output, "the caller");
    }
  }

  std::span<const std::byte> bytes_;
  ModelFile& file_;
  const schema::Model* model_ = nullptr;
};

}  // namespace

ModelFile::ModelFile(const std::filesystem::path& path) : ModelFile(read_bytes(path)) {}

ModelFile::ModelFile(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {
  ModelReader(bytes_, *this).read();
}

}  // namespace tare::tflite
