#pragma once

#include "tare/graph.h"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tare::test {

/// A type without parameters.
inline TensorType typed(DType dtype, Shape shape) {
  return {.dtype = dtype, .shape = std::move(shape), .quant = {}, .point = {}};
}
inline TensorType f32(Shape shape) {
  return typed(DType::kFloat32, std::move(shape));
}

/// Adds a node with one result in f32; its handle.
ValueId add(Graph&, std::string op, std::vector<ValueId> inputs, Shape result,
            Attributes attributes = {});

/// How many nodes there are of each operator.
std::map<std::string, int> operator_counts(const Graph&);
std::size_t count_of(const Graph&, std::string_view op);

}  // namespace tare::test
