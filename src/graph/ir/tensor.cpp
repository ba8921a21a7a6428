#include "tare/tensor.h"

#include "tare/error.h"

#include "base/check.h"
#include "base/shared_memory.h"
#include "graph/arithmetic/element_type.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace tare {
namespace {

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  std::size_t size;
};

constexpr std::array kDTypes{
    DTypeInfo{DType::kFloat32, "f32", 4},   DTypeInfo{DType::kFloat64, "f64", 8},
    DTypeInfo{DType::kFloat16, "f16", 2},   DTypeInfo{DType::kInt8, "i8", 1},
    DTypeInfo{DType::kUint8, "u8", 1},      DTypeInfo{DType::kInt16, "i16", 2},
    DTypeInfo{DType::kUint16, "u16", 2},    DTypeInfo{DType::kInt32, "i32", 4},
    DTypeInfo{DType::kUint32, "u32", 4},    DTypeInfo{DType::kInt64, "i64", 8},
    DTypeInfo{DType::kUint64, "u64", 8},    DTypeInfo{DType::kBool, "bool", 1},
    DTypeInfo{DType::kBfloat16, "bf16", 2},
};

const DTypeInfo& info(DType dtype) {
  return kDTypes.at(static_cast<std::size_t>(dtype));
}

template <class Out>
std::vector<Out> converted(const Tensor& tensor) {
  std::vector<Out> result(static_cast<std::size_t>(tensor.size()));
  with_element_type(tensor.dtype(), [&](auto tag) {
    const auto* elements = reinterpret_cast<const decltype(tag)*>(tensor.data());
    std::transform(elements, elements + result.size(), result.begin(),
                   [](auto x) { return static_cast<Out>(x); });
  });
  return result;
}

}  // namespace

std::size_t size_of(DType dtype) {
  return info(dtype).size;
}

std::string_view name_of(DType dtype) {
  return info(dtype).name;
}

DType dtype_from_name(std::string_view name) {
  const auto* found = std::find_if(kDTypes.begin(), kDTypes.end(),
                                   [&](const DTypeInfo& d) { return d.name == name; });
  if (found == kDTypes.end()) {
    throw Error(ErrorCode::kInvalidModel, "",
                "unknown element type '" + std::string(name) + "'");
  }
  return found->dtype;
}

bool is_float(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBfloat16 || dtype == DType::kFloat32 ||
         dtype == DType::kFloat64;
}

bool is_integer(DType dtype) {
  return !is_float(dtype) && dtype != DType::kBool;
}

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    count *= extent;
  }
  return count;
}

bool is_addressable(const Shape& shape) {
  constexpr std::int64_t kMostElements = std::int64_t{1} << 40;
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || extent > kMostElements / count) {
      return false;
    }
    count *= std::max<std::int64_t>(extent, 1);
  }
  return true;
}

std::string to_string(const Shape& shape) {
  std::string result = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) {
      result += ',';
    }
    result += std::to_string(shape[i]);
  }
  return result + "]";
}

std::size_t normalized_axis(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) {
    throw Error(ErrorCode::kInvalidModel, "",
                "axis " + std::to_string(axis) + " is outside of rank " + std::to_string(rank));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

Tensor::Tensor() : Tensor(DType::kFloat32, {0}) {}

Tensor::Tensor(DType dtype, Shape shape)
    : dtype_(dtype), shape_(std::move(shape)), bytes_(zeroed_shared_memory(byte_size())) {}

Tensor Tensor::over(DType dtype, Shape shape, std::shared_ptr<std::byte[]> bytes) {
  Tensor result;
  result.dtype_ = dtype;
  result.shape_ = std::move(shape);
  result.bytes_ = std::move(bytes);
  return result;
}

std::byte* Tensor::mutable_data() {
  if (bytes_.use_count() > 1) {
    auto own = shared_memory(byte_size());
    std::memcpy(own.get(), bytes_.get(), byte_size());
    bytes_ = std::move(own);
  }
  return bytes_.get();
}

Tensor Tensor::reshaped(Shape shape) const {
  check(element_count(shape) == size(), "reshape changes the element count");
  Tensor result = *this;
  result.shape_ = std::move(shape);
  return result;
}

Tensor Tensor::rows(std::int64_t first, std::int64_t count) const {
  check(!shape_.empty() && first >= 0 && count >= 0 && first + count <= shape_[0],
        "rows outside of a tensor");
  const std::size_t row =
      shape_[0] == 0 ? 0 : byte_size() / static_cast<std::size_t>(shape_[0]);
  Tensor result = *this;
  result.shape_[0] = count;
  result.bytes_ = {bytes_, bytes_.get() + row * static_cast<std::size_t>(first)};
  return result;
}

std::vector<std::int64_t> Tensor::to_int64() const {
  return converted<std::int64_t>(*this);
}

std::vector<double> Tensor::to_double() const {
  return converted<double>(*this);
}

std::vector<float> Tensor::to_float() const {
  return converted<float>(*this);
}

void Tensor::require(DType dtype) const {
  if (dtype != dtype_) {
    throw Error(ErrorCode::kInternal, "",
                "tensor of type " + std::string(name_of(dtype_)) + " read as " +
                    std::string(name_of(dtype)));
  }
}

bool operator==(const Tensor& a, const Tensor& b) {
  return a.dtype_ == b.dtype_ && a.shape_ == b.shape_ &&
         std::memcmp(a.data(), b.data(), a.byte_size()) == 0;
}

}  // namespace tare
