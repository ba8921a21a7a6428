// Arrays of the caller, with strides of any kind, and tensors of ours as such arrays.
#include "c/array.h"

#include "tare/error.h"

#include <cstring>
#include <utility>

namespace tare::c {
namespace {

static_assert(TARE_F32 == static_cast<int>(DType::kFloat32) &&
              TARE_F16 == static_cast<int>(DType::kFloat16) &&
              TARE_U8 == static_cast<int>(DType::kUint8) &&
              TARE_I64 == static_cast<int>(DType::kInt64) &&
              TARE_BOOL == static_cast<int>(DType::kBool) &&
              TARE_BF16 == static_cast<int>(DType::kBfloat16));

constexpr std::int32_t kMostAxes = 64;

std::vector<std::int64_t> row_major(const Shape& shape, std::size_t element) {
  std::vector<std::int64_t> strides(shape.size());
  auto stride = static_cast<std::int64_t>(element);
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

/// The elements from `axis` on, to `out`, which moves behind them. `dense` is the first axis
/// from which on they lie in row-major order.
void copy(const Array& array, const std::byte* from, std::size_t axis, std::size_t dense,
          std::int64_t extent, std::byte*& out) {
  const std::size_t element = size_of(array.dtype);
  if (axis >= dense) {
    std::size_t bytes = element * static_cast<std::size_t>(extent);
    for (std::size_t i = axis + 1; i < array.shape.size(); ++i) {
      bytes *= static_cast<std::size_t>(array.shape[i]);
    }
    std::memcpy(out, from, bytes);
    out += bytes;
    return;
  }
  const bool is_last = axis + 1 == array.shape.size();
  for (std::int64_t i = 0; i < extent; ++i) {
    const std::byte* place = from + i * array.strides[axis];
    if (is_last) {
      std::memcpy(out, place, element);
      out += element;
    } else {
      copy(array, place, axis + 1, dense, array.shape[axis + 1], out);
    }
  }
}

/// The stride of an axis of extent 1 moves nothing.
std::size_t first_dense_axis(const Array& array) {
  const std::vector<std::int64_t> wanted = row_major(array.shape, size_of(array.dtype));
  std::size_t axis = array.shape.size();
  while (axis > 0 &&
         (array.strides[axis - 1] == wanted[axis - 1] || array.shape[axis - 1] == 1)) {
    --axis;
  }
  return axis;
}

}  // namespace

Array array_of(const tare_array& given, bool is_described) {
  Array result;
  result.name = given.name == nullptr ? "" : given.name;
  const auto fault = [&](const std::string& what) {
    return Error(ErrorCode::kInvalidData, "input '" + result.name + "'", what);
  };
  if (given.dtype < TARE_F32 || given.dtype > TARE_BF16) {
    throw fault("has the dtype " + std::to_string(given.dtype)).expected("0 to 12");
  }
  if (given.rank < 0 || given.rank > kMostAxes || (given.rank > 0 && given.shape == nullptr)) {
    throw fault("has the rank " + std::to_string(given.rank) +
                (given.rank > 0 ? " and no shape" : ""));
  }
  result.dtype = static_cast<DType>(given.dtype);
  result.shape.assign(given.shape, given.shape + given.rank);
  if (!is_addressable(result.shape)) {
    throw fault("has the shape " + to_string(result.shape) + ", which no memory can hold");
  }
  if (given.strides == nullptr) {
    result.strides = row_major(result.shape, size_of(result.dtype));
  } else {
    result.strides.assign(given.strides, given.strides + given.rank);
  }
  if (!is_described && given.data == nullptr && element_count(result.shape) > 0) {
    throw fault("has no data");
  }
  result.data = static_cast<const std::byte*>(given.data);
  return result;
}

void copy_rows(const Array& array, std::size_t first, std::size_t count, std::byte* out) {
  const auto offset = static_cast<std::int64_t>(first) * array.strides[0];
  copy(array, array.data + offset, 0, first_dense_axis(array), static_cast<std::int64_t>(count),
       out);
}

Views::Views(std::span<const Tensor> tensors, const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    arrays_.push_back({.name = names.at(i).c_str(),
                       .data = tensor.data(),
                       .shape = tensor.shape().data(),
                       .strides = nullptr,
                       .rank = static_cast<std::int32_t>(tensor.shape().size()),
                       .dtype = static_cast<std::int32_t>(tensor.dtype())});
  }
}

}  // namespace tare::c
