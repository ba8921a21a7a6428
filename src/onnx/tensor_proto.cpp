#include "onnx/tensor_proto.h"

#include "tare/error.h"

#include "base/input_file.h"
#include "base/truth_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

namespace tare {
namespace {

constexpr std::array kDataTypes{
    std::pair{DType::kFloat32, onnx::TensorProto::FLOAT},
    std::pair{DType::kFloat64, onnx::TensorProto::DOUBLE},
    std::pair{DType::kFloat16, onnx::TensorProto::FLOAT16},
    std::pair{DType::kInt8, onnx::TensorProto::INT8},
    std::pair{DType::kUint8, onnx::TensorProto::UINT8},
    std::pair{DType::kInt16, onnx::TensorProto::INT16},
    std::pair{DType::kUint16, onnx::TensorProto::UINT16},
    std::pair{DType::kInt32, onnx::TensorProto::INT32},
    std::pair{DType::kUint32, onnx::TensorProto::UINT32},
    std::pair{DType::kInt64, onnx::TensorProto::INT64},
    std::pair{DType::kUint64, onnx::TensorProto::UINT64},
    std::pair{DType::kBool, onnx::TensorProto::BOOL},
    std::pair{DType::kBfloat16, onnx::TensorProto::BFLOAT16},
};

[[noreturn]] void fail(const std::string& what, const std::string& expected = {}) {
  Error error(ErrorCode::kInvalidModel, "", what);
  throw expected.empty() ? error : error.expected(expected);
}

Shape checked_shape(const onnx::TensorProto& proto) {
  Shape shape(proto.dims().begin(), proto.dims().end());
  if (!is_addressable(shape)) {
    fail("a tensor has shape " + to_string(shape));
  }
  return shape;
}

void require_amount(std::uint64_t found, std::uint64_t wanted, std::string_view unit,
                    const Shape& shape) {
  if (found != wanted) {
    fail("a tensor of shape " + to_string(shape) + " stores " + std::to_string(found) + " " +
             std::string(unit),
         std::to_string(wanted));
  }
}

template <class Stored, class Field>
Tensor from_field(DType dtype, const Shape& shape, const Field& field) {
  require_amount(static_cast<std::uint64_t>(field.size()),
                 static_cast<std::uint64_t>(element_count(shape)), "elements", shape);
  Tensor tensor(dtype, shape);
  auto* out = reinterpret_cast<Stored*>(tensor.mutable_data());
  std::transform(field.begin(), field.end(), out,
                 [](auto value) { return static_cast<Stored>(value); });
  return tensor;
}

Tensor from_fields(DType dtype, const Shape& shape, const onnx::TensorProto& proto) {
  switch (dtype) {
    case DType::kFloat32:
      return from_field<float>(dtype, shape, proto.float_data());
    case DType::kFloat64:
      return from_field<double>(dtype, shape, proto.double_data());
    case DType::kInt64:
      return from_field<std::int64_t>(dtype, shape, proto.int64_data());
    case DType::kUint64:
      return from_field<std::uint64_t>(dtype, shape, proto.uint64_data());
    case DType::kUint32:
      return from_field<std::uint32_t>(dtype, shape, proto.uint64_data());
    case DType::kInt32:
      return from_field<std::int32_t>(dtype, shape, proto.int32_data());
    case DType::kInt16:
      return from_field<std::int16_t>(dtype, shape, proto.int32_data());
    case DType::kInt8:
      return from_field<std::int8_t>(dtype, shape, proto.int32_data());
    case DType::kUint8:
      return from_field<std::uint8_t>(dtype, shape, proto.int32_data());
    case DType::kBool:
      return from_field<bool>(dtype, shape, proto.int32_data());
    case DType::kFloat16:  // the bits of the halves
    case DType::kBfloat16:
    case DType::kUint16:
      return from_field<std::uint16_t>(dtype, shape, proto.int32_data());
  }
  throw Error(ErrorCode::kInternal, "", "unknown element type");
}

struct ExternalData {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

std::uint64_t parse_number(const std::string& key, const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size()) {
    fail("external data has " + key + " '" + text + "'", "a number of bytes");
  }
  return value;
}

ExternalData parse_external(const onnx::TensorProto& proto) {
  ExternalData result;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") {
      result.location = entry.value();
    } else if (entry.key() == "offset") {
      result.offset = parse_number(entry.key(), entry.value());
    } else if (entry.key() == "length") {
      result.length = parse_number(entry.key(), entry.value());
    }
  }
  return result;
}

std::optional<std::filesystem::path> path_inside(const std::string& location,
                                                 const std::filesystem::path& folder) {
  const std::filesystem::path relative(location);
  const bool climbs = std::find(relative.begin(), relative.end(), "..") != relative.end();
  if (relative.empty() || relative.is_absolute() || climbs ||
      location.find('\0') != std::string::npos) {
    return std::nullopt;
  }
  return folder / relative;
}

std::filesystem::path checked_location(const std::string& location) {
  auto path = path_inside(location, {});
  if (!path) {
    fail("external data is at '" + location + "'", "a path inside the folder of the model");
  }
  return *std::move(path);
}

Tensor from_external(DType dtype, const Shape& shape, const onnx::TensorProto& proto,
                     const std::filesystem::path& folder) {
  const ExternalData external = parse_external(proto);
  const std::uint64_t wanted =
      static_cast<std::uint64_t>(element_count(shape)) * size_of(dtype);
  if (external.length) {
    require_amount(*external.length, wanted, "bytes", shape);
  }
  const InputFile file = InputFile::inside(folder, checked_location(external.location));
  if (external.offset > file.size() || file.size() - external.offset < wanted) {
    fail("external data '" + external.location + "' has " + std::to_string(file.size()) +
             " bytes",
         std::to_string(wanted) + " from " + std::to_string(external.offset) + " on");
  }
  // Where kernels like elements to be; others are copied.
  constexpr std::size_t kAlignment = 64;
  constexpr std::size_t kLarge = 1 << 20;
  if (external.offset % kAlignment == 0 && wanted >= kLarge) {
    if (auto bytes = file.map(external.offset, static_cast<std::size_t>(wanted))) {
      return Tensor::over(dtype, shape, std::move(bytes));
    }
  }
  Tensor tensor(dtype, shape);
  file.read(external.offset, {tensor.mutable_data(), static_cast<std::size_t>(wanted)});
  return tensor;
}

/// Two integers of 4 bits in each byte, the first in its lower half.
Tensor unpacked(const Tensor& packed, DType dtype, const Shape& shape) {
  constexpr unsigned kHalf = 4;
  constexpr unsigned kLower = 15;
  const int sign = dtype == DType::kInt8 ? 8 : 0;
  Tensor tensor(dtype, shape);
  std::byte* out = tensor.mutable_data();
  for (std::size_t i = 0; i < tensor.byte_size(); ++i) {
    const auto byte = std::to_integer<unsigned>(packed.data()[i / 2]);
    const auto bits = static_cast<int>(i % 2 == 0 ? byte & kLower : byte >> kHalf);
    out[i] = static_cast<std::byte>((bits ^ sign) - sign);
  }
  return tensor;
}

Tensor from_raw(DType dtype, const Shape& shape, const std::string& bytes) {
  require_amount(bytes.size(),
                 static_cast<std::uint64_t>(element_count(shape)) * size_of(dtype), "bytes",
                 shape);
  Tensor tensor(dtype, shape);
  std::memcpy(tensor.mutable_data(), bytes.data(), bytes.size());
  return tensor;
}

Tensor stored(DType dtype, const Shape& shape, const onnx::TensorProto& proto,
              const std::filesystem::path& folder) {
  return proto.data_location() == onnx::TensorProto::EXTERNAL
             ? from_external(dtype, shape, proto, folder)
         : proto.has_raw_data() ? from_raw(dtype, shape, proto.raw_data())
                                : from_fields(dtype, shape, proto);
}

/// The enumeration of the library may be older than they are.
constexpr std::int32_t kUint4 = 21;
constexpr std::int32_t kInt4 = 22;

}  // namespace

std::optional<std::filesystem::path> external_file(const onnx::TensorProto& proto,
                                                   const std::filesystem::path& folder) {
  if (proto.data_location() != onnx::TensorProto::EXTERNAL) {
    return std::nullopt;
  }
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") {
      return path_inside(entry.value(), folder);
    }
  }
  return std::nullopt;
}

std::optional<DType> dtype_of_packed(std::int32_t data_type) {
  return data_type == kInt4    ? std::optional(DType::kInt8)
         : data_type == kUint4 ? std::optional(DType::kUint8)
                               : std::nullopt;
}

std::optional<DType> dtype_from_onnx(std::int32_t data_type) {
  const auto* found =
      std::find_if(kDataTypes.begin(), kDataTypes.end(),
                   [&](const auto& entry) { return entry.second == data_type; });
  return found == kDataTypes.end() ? std::nullopt : std::optional(found->first);
}

DType required_dtype(std::int32_t data_type) {
  if (const auto dtype = dtype_from_onnx(data_type)) {
    return *dtype;
  }
  const std::string name = onnx::TensorProto::DataType_IsValid(data_type)
                               ? onnx::TensorProto::DataType_Name(
                                     static_cast<onnx::TensorProto::DataType>(data_type))
                               : std::to_string(data_type);
  throw Error(ErrorCode::kUnsupported, "", "element type " + name + " is not supported");
}

std::int32_t onnx_data_type(DType dtype) {
  return kDataTypes.at(static_cast<std::size_t>(dtype)).second;
}

Tensor to_tensor(const onnx::TensorProto& proto, const std::filesystem::path& folder) {
  const auto packed = dtype_of_packed(proto.data_type());
  const DType dtype = packed ? *packed : required_dtype(proto.data_type());
  const Shape shape = checked_shape(proto);
  if (proto.has_segment()) {
    throw Error(ErrorCode::kUnsupported, "", "tensors in segments are not supported");
  }
  if (packed) {
    const Shape bytes{(element_count(shape) + 1) / 2};
    return unpacked(stored(DType::kUint8, bytes, proto, folder), dtype, shape);
  }
  Tensor tensor = stored(dtype, shape, proto, folder);
  if (dtype == DType::kBool) {
    make_truth_values({tensor.mutable_data(), tensor.byte_size()});
  }
  return tensor;
}

Tensor packed(const Tensor& integers) {
  constexpr unsigned kHalf = 4;
  constexpr unsigned kLower = 15;
  Tensor result(DType::kUint8, {(integers.size() + 1) / 2});
  auto bytes = result.mutable_view<std::uint8_t>();
  for (std::size_t i = 0; i < integers.byte_size(); ++i) {
    const unsigned bits = std::to_integer<unsigned>(integers.data()[i]) & kLower;
    bytes[i / 2] =
        static_cast<std::uint8_t>(bytes[i / 2] | (i % 2 == 0 ? bits : bits << kHalf));
  }
  return result;
}

void fill_packed_header(const Tensor& integers, onnx::TensorProto& proto) {
  fill_header(integers, proto);
  proto.set_data_type(integers.dtype() == DType::kInt8 ? kInt4 : kUint4);
}

void fill_header(const Tensor& tensor, onnx::TensorProto& proto) {
  proto.set_data_type(onnx_data_type(tensor.dtype()));
  for (const std::int64_t extent : tensor.shape()) {
    proto.add_dims(extent);
  }
}

void fill_proto(const Tensor& tensor, onnx::TensorProto& proto) {
  fill_header(tensor, proto);
  proto.set_raw_data(tensor.data(), tensor.byte_size());
}

}  // namespace tare
