#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tare {

/// Element types. Names in text and files: f32 f64 f16 i8 u8 i16 u16 i32 u32 i64 u64 bool bf16.
enum class DType : std::uint8_t {
  kFloat32,
  kFloat64,
  kFloat16,
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kBool,
  kBfloat16,
};

std::size_t size_of(DType);       ///< bytes of one element
std::string_view name_of(DType);  ///< "f32", "u8", ...
/// Throws Error(kInvalidModel) for a name that is not in the list above.
DType dtype_from_name(std::string_view);
bool is_float(DType);    ///< bf16, f16, f32, f64
bool is_integer(DType);  ///< every integer type, not bool

using Shape = std::vector<std::int64_t>;

/// Product of the extents; 1 for a scalar (rank 0).
std::int64_t element_count(const Shape&);
/// No extent is negative and the product of those above 0 is at most 2^40, far more than any
/// memory and far from overflowing whatever is computed from it.
bool is_addressable(const Shape&);
/// "[1,3,16,16]"
std::string to_string(const Shape&);
/// `axis` in [-rank, rank) to [0, rank). Throws Error(kInvalidModel) outside of it.
std::size_t normalized_axis(std::int64_t axis, std::size_t rank);

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType kValue = DType::kFloat32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType kValue = DType::kFloat64;
};
template <>
struct DTypeOf<std::int8_t> {
  static constexpr DType kValue = DType::kInt8;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType kValue = DType::kUint8;
};
template <>
struct DTypeOf<std::int16_t> {
  static constexpr DType kValue = DType::kInt16;
};
template <>
struct DTypeOf<std::uint16_t> {
  static constexpr DType kValue = DType::kUint16;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType kValue = DType::kInt32;
};
template <>
struct DTypeOf<std::uint32_t> {
  static constexpr DType kValue = DType::kUint32;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType kValue = DType::kInt64;
};
template <>
struct DTypeOf<std::uint64_t> {
  static constexpr DType kValue = DType::kUint64;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType kValue = DType::kBool;
};

/// A dense array in row-major order with a type and a shape. A value: copies share their bytes
/// until one of them is written to.
class Tensor {
 public:
  /// Rank 1, f32, no elements.
  Tensor();
  /// Zero-filled.
  Tensor(DType, Shape);
  /// Throws Error(kInternal) unless values.size() is the element count of `shape`.
  template <class T>
  static Tensor of(Shape shape, std::span<const T> values);
  template <class T>
  static Tensor of(Shape shape, const std::vector<T>& values) {
    return of<T>(std::move(shape), std::span<const T>(values));
  }
  /// Of bytes that may be shared with others, such as those of a mapped file. `bytes` are as
  /// many as the elements take, at an address that is a multiple of 64.
  static Tensor over(DType, Shape, std::shared_ptr<std::byte[]> bytes);
  /// Rank 0.
  template <class T>
  static Tensor scalar(T value) {
    return of<T>({}, std::span<const T>(&value, 1));
  }

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t size() const { return element_count(shape_); }  ///< elements
  std::size_t byte_size() const { return static_cast<std::size_t>(size()) * size_of(dtype_); }

  const std::byte* data() const { return bytes_.get(); }
  /// Copies the bytes first when they are shared.
  std::byte* mutable_data();

  /// Throws Error(kInternal) when T is not dtype().
  template <class T>
  std::span<const T> view() const {
    require(DTypeOf<T>::kValue);
    return {reinterpret_cast<const T*>(data()), static_cast<std::size_t>(size())};
  }
  template <class T>
  std::span<T> mutable_view() {
    require(DTypeOf<T>::kValue);
    return {reinterpret_cast<T*>(mutable_data()), static_cast<std::size_t>(size())};
  }

  /// Same bytes under another shape. Throws Error(kInternal) when the element counts differ.
  Tensor reshaped(Shape) const;
  /// Extents [first, first + count) of axis 0, sharing the bytes.
  Tensor rows(std::int64_t first, std::int64_t count) const;
  /// The elements as int64, double or float, whatever integer, bool or float type they have.
  std::vector<std::int64_t> to_int64() const;
  std::vector<double> to_double() const;
  std::vector<float> to_float() const;

  /// Same type, shape and bytes (so NaN equals itself and -0 differs from 0).
  friend bool operator==(const Tensor&, const Tensor&);

 private:
  void require(DType) const;

  DType dtype_ = DType::kFloat32;
  Shape shape_{0};
  std::shared_ptr<std::byte[]> bytes_;
};

template <class T>
Tensor Tensor::of(Shape shape, std::span<const T> values) {
  Tensor result(DTypeOf<T>::kValue, {static_cast<std::int64_t>(values.size())});
  auto out = result.mutable_view<T>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    out[i] = values[i];
  }
  return result.reshaped(std::move(shape));
}

/// Elements that copies share until one of these is changed. Weights in blocks have as many
/// scales as a thirty-second of the elements, and each graph of a network has them: large
/// arrays are, as large tensors are, in memory only as far as there is enough of it. T is one
/// of float, std::int32_t and std::int8_t.
template <class T>
class SharedArray {
 public:
  using value_type = T;
  using const_iterator = const T*;

  SharedArray() = default;
  explicit SharedArray(std::size_t count);     ///< of zeros
  SharedArray(std::span<const T> elements);    // NOLINT(google-explicit-constructor)
  SharedArray(const std::vector<T>& elements)  // NOLINT(google-explicit-constructor)
      : SharedArray(std::span<const T>(elements)) {}
  SharedArray(std::initializer_list<T> elements)
      : SharedArray(std::span<const T>(elements.begin(), elements.size())) {}
  template <std::input_iterator Iterator>
  SharedArray(Iterator first, Iterator last) : SharedArray(std::vector<T>(first, last)) {}

  SharedArray(const SharedArray&) = default;
  SharedArray& operator=(const SharedArray&) = default;
  SharedArray(SharedArray&& other) noexcept  // which is empty then
      : size_(std::exchange(other.size_, 0)), bytes_(std::move(other.bytes_)) {}
  SharedArray& operator=(SharedArray&& other) noexcept {
    size_ = std::exchange(other.size_, 0);
    bytes_ = std::move(other.bytes_);
    return *this;
  }
  ~SharedArray() = default;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T* data() const { return reinterpret_cast<const T*>(bytes_.get()); }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  const T& operator[](std::size_t i) const { return data()[i]; }
  const T& front() const { return data()[0]; }
  const T& back() const { return data()[size_ - 1]; }

  std::vector<T> to_vector() const { return {begin(), end()}; }

  /// To change them. Copies them first when they are shared.
  std::span<T> mutable_view();
  /// Copies all of them, so for few.
  void push_back(T element);
  void clear() { *this = SharedArray(); }

  /// By value; elements that both share are equal.
  friend bool operator==(const SharedArray& a, const SharedArray& b) { return a.equals(b); }

 private:
  bool equals(const SharedArray&) const;

  std::size_t size_ = 0;
  std::shared_ptr<std::byte[]> bytes_;
};

extern template class SharedArray<float>;
extern template class SharedArray<std::int32_t>;
extern template class SharedArray<std::int8_t>;

}  // namespace tare
