#include "tare/tensor.h"

#include "base/shared_memory.h"

#include <algorithm>
#include <cstring>

namespace tare {

template <class T>
SharedArray<T>::SharedArray(std::size_t count) : size_(count) {
  if (count > 0) {
    bytes_ = zeroed_shared_memory(count * sizeof(T));
  }
}

template <class T>
SharedArray<T>::SharedArray(std::span<const T> elements) : size_(elements.size()) {
  if (size_ > 0) {
    bytes_ = shared_memory(elements.size_bytes());
    std::memcpy(bytes_.get(), elements.data(), elements.size_bytes());
  }
}

template <class T>
std::span<T> SharedArray<T>::mutable_view() {
  if (bytes_.use_count() > 1) {
    *this = SharedArray(std::span<const T>(data(), size_));
  }
  return {reinterpret_cast<T*>(bytes_.get()), size_};
}

template <class T>
void SharedArray<T>::push_back(T element) {
  SharedArray longer(size_ + 1);
  const std::span<T> elements = longer.mutable_view();
  std::copy(begin(), end(), elements.begin());
  elements.back() = element;
  *this = std::move(longer);
}

template <class T>
bool SharedArray<T>::equals(const SharedArray& other) const {
  return (bytes_ == other.bytes_ && size_ == other.size_) ||
         std::equal(begin(), end(), other.begin(), other.end());
}

template class SharedArray<float>;
template class SharedArray<std::int32_t>;
template class SharedArray<std::int8_t>;

}  // namespace tare
