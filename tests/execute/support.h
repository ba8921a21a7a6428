#pragma once

#include "tare/graph.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace tare::test {

inline TensorType f32(Shape shape) {
  return {.dtype = DType::kFloat32, .shape = std::move(shape), .quant = {}, .point = {}};
}

/// The same numbers on every machine, unlike the distributions of the standard library.
class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}

  /// Both ends included.
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return low +
           static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool coin() { return integer(0, 1) == 1; }
  float real() { return static_cast<float>(integer(-1000, 1000)) / 500.F; }  ///< in [-2, 2]

  Tensor tensor(Shape shape) {
    Tensor result(DType::kFloat32, std::move(shape));
    for (float& x : result.mutable_view<float>()) {
      x = real();
    }
    return result;
  }
  std::vector<std::int64_t> integers(std::size_t count, std::int64_t low, std::int64_t high) {
    std::vector<std::int64_t> result(count);
    for (auto& x : result) {
      x = integer(low, high);
    }
    return result;
  }

 private:
  std::mt19937 engine_;
};

/// Adds a node with one result; its handle.
inline ValueId add(Graph& graph, std::string op, std::vector<ValueId> inputs, Shape result,
                   Attributes attributes = {}) {
  const std::string name = graph.unique_name(op);
  const NodeId node = graph.add_node(name, std::move(op), std::move(inputs),
                                     {{name, f32(std::move(result))}}, std::move(attributes));
  return graph.node(node).outputs[0];
}

/// An exact sum of products in double, with what its float counterpart may be off by.
struct Sum {
  double value = 0;
  double magnitude = 0;
  int terms = 0;

  void add(double x, double w) {
    value += x * w;
    magnitude += std::abs(x * w);
    ++terms;
  }
  /// Any order of summation in float: each of the terms is rounded at most once per addition
  /// and once when multiplied.
  double bound() const {
    return (terms + 1) * magnitude * std::numeric_limits<float>::epsilon();
  }
};

/// Calls f(index) for every index of `shape`, row-major.
template <class F>
void for_each_index(const Shape& shape, F&& f) {
  Shape index(shape.size(), 0);
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    f(index);
    for (std::size_t axis = shape.size(); axis-- > 0 && ++index[axis] == shape[axis];) {
      index[axis] = 0;
    }
  }
}

inline std::size_t offset(const Shape& shape, const Shape& index) {
  std::int64_t result = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    result = result * shape[axis] + index[axis];
  }
  return static_cast<std::size_t>(result);
}

}  // namespace tare::test
