#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tare {

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
