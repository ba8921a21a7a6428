#pragma once

#include "base/large_memory.h"

#include <cstddef>
#include <new>
#include <utility>

#include <Eigen/Core>

namespace tare {

/// A matrix of Eigen whose elements are in LargeMemory.
template <class T, int Order = Eigen::ColMajor>
class LargeMatrix : public Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Order>,
                                      Eigen::Aligned64> {
 public:
  using Map =
      Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Order>, Eigen::Aligned64>;
  using Map::operator=;

  LargeMatrix() : Map(nullptr, 0, 0) {}
  /// Elements are anything at first.
  LargeMatrix(Eigen::Index rows, Eigen::Index columns) : LargeMatrix() {
    memory_ = LargeArray<T>(static_cast<std::size_t>(rows * columns));
    map(memory_.span().data(), rows, columns);
  }
  LargeMatrix(LargeMatrix&& other) noexcept : LargeMatrix() { *this = std::move(other); }
  LargeMatrix& operator=(LargeMatrix&& other) noexcept {
    memory_ = std::move(other.memory_);
    map(other.data(), other.rows(), other.cols());
    other.map(nullptr, 0, 0);
    return *this;
  }
  LargeMatrix(const LargeMatrix&) = delete;
  LargeMatrix& operator=(const LargeMatrix&) = delete;
  ~LargeMatrix() = default;

 private:
  /// As Eigen's documentation says how to map another array.
  void map(T* data, Eigen::Index rows, Eigen::Index columns) {
    new (static_cast<Map*>(this)) Map(data, rows, columns);
  }

  LargeArray<T> memory_;
};

}  // namespace tare
