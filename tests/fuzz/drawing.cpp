#include "fuzz/drawing.h"

#include "support/graphs.h"
#include "support/random/random.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace tare::fuzz {
namespace {

constexpr std::int64_t kMostElements = 2000;

}  // namespace

bool Drawing::is_fixed(ValueId value, std::size_t axis) const {
  const Shapes& all = shapes_of(value);
  return std::all_of(all.begin(), all.end(),
                     [&](const Shape& shape) { return shape[axis] == all[0][axis]; });
}

bool Drawing::is_fixed(ValueId value) const {
  const Shapes& all = shapes_of(value);
  return std::all_of(all.begin(), all.end(),
                     [&](const Shape& shape) { return shape == all[0]; });
}

ValueId Drawing::input(const std::string& name, Shapes shapes, DType dtype) {
  const ValueId id = graph.add_input(name, test::typed(dtype, shapes[0]));
  shapes_.emplace(id, std::move(shapes));
  return id;
}

ValueId Drawing::op(const char* name, std::vector<ValueId> inputs, Shapes shapes,
                    Attributes attributes, DType dtype) {
  const std::string unique = graph.unique_name(name);
  const NodeId node =
      graph.add_node(unique, name, std::move(inputs), {{unique, test::typed(dtype, shapes[0])}},
                     std::move(attributes));
  const ValueId id = graph.node(node).outputs[0];
  shapes_.emplace(id, std::move(shapes));
  return id;
}

std::vector<ValueId> Drawing::ops(const char* name, std::vector<ValueId> inputs,
                                  const std::vector<Shapes>& shapes, Attributes attributes) {
  const std::string unique = graph.unique_name(name);
  std::vector<NamedType> outputs;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    outputs.push_back({i == 0 ? unique : graph.unique_name(unique + ":" + std::to_string(i)),
                       test::f32(shapes[i][0])});
  }
  const NodeId node =
      graph.add_node(unique, name, std::move(inputs), outputs, std::move(attributes));
  std::vector<ValueId> results = graph.node(node).outputs;
  for (std::size_t i = 0; i < results.size(); ++i) {
    shapes_.emplace(results[i], shapes[i]);
  }
  return results;
}

Tensor Drawing::numbers(const Shape& shape, std::int64_t terms) {
  Tensor result(DType::kFloat32, shape);
  const auto values = result.mutable_view<float>();
  if (kind.is_tame) {
    // Of variance 1 / terms, about.
    test::Random random(static_cast<std::uint32_t>(choose.byte()) * 256U + choose.byte());
    for (float& value : values) {
      value = random.real() / std::sqrt(static_cast<float>(std::max<std::int64_t>(terms, 1)));
    }
    return result;
  }
  const std::int64_t type = choose.below(16);
  test::Random random(choose.byte());
  const float factor = std::ldexp(1.0F, static_cast<int>(choose.between(-6, 3)));
  for (float& value : values) {
    value = random.real() * factor;
  }
  constexpr std::array kExtremes{0.0F,     -0.0F,   1e-30F, 1e-45F, 3e38F,
                                 -3.4e38F, 1.0e10F, 1e-6F,  -1.0F,  65504.0F};
  const float extreme = choose.of(std::span<const float>(kExtremes));
  if (type == 15) {
    std::fill(values.begin(), values.end(), extreme);
  } else if (type == 14 && !values.empty()) {
    values[static_cast<std::size_t>(random.integer(0, result.size() - 1))] = extreme;
  } else if (type == 13) {
    for (float& value : values) {  // many halves between steps
      value = std::round(value * 4) / 4;
    }
  } else if (type == 12) {
    for (float& value : values) {
      value = std::abs(value);
    }
  }
  return result;
}

ValueId Drawing::constant_of(Tensor tensor) {
  Shape shape = tensor.shape();
  const ValueId id = graph.add_constant(graph.unique_name("c"), std::move(tensor));
  shapes_.emplace(id, always(std::move(shape)));
  return id;
}

ValueId Drawing::constant(const Shape& shape, std::int64_t terms) {
  return constant_of(numbers(shape, terms));
}

ValueId Drawing::integers(const Integers& values) {
  return constant_of(
      Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
}

void Drawing::keep(ValueId value) {
  const Shapes& all = shapes_of(value);
  if (std::all_of(all.begin(), all.end(), [](const Shape& shape) {
        return shape.size() >= 2 && shape.size() <= 4 && element_count(shape) <= kMostElements;
      })) {
    values.push_back(value);
  }
}

}  // namespace tare::fuzz
