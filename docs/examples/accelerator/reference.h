// The arithmetic of the Lark in integers alone: what a unit computes from the integers that it
// reads. It shares no code with Tare, which only tells what the network is.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <tare/error.h>
#include <tare/graph.h>

namespace lark {

using tare::Graph;
using tare::Node;
using tare::NodeId;
using tare::Shape;
using tare::ValueId;
using Integers = std::vector<std::int64_t>;

inline constexpr std::int64_t kMostSum = (1 << 13) - 1;

/// One register of 14 bits.
inline std::int64_t saturated(std::int64_t sum) {
  return std::clamp(sum, -kMostSum - 1, kMostSum);
}

class Unit {
 public:
  Unit(const Graph& graph, std::map<ValueId, Integers>& known) : graph_(graph), known_(known) {}

  void run(NodeId id) {
    const Node& node = graph_.node(id);
    Integers& result = known_[node.outputs[0]];
    if (node.op == "Conv") {
      result = convolve(node);
    } else if (node.op == "MatMul" || node.op == "Gemm") {
      result = multiply(node);
    } else if (node.op == "Requantize") {
      result = shift(node);
    } else if (node.op == "Add") {
      result = add(node);
    } else if (node.op == "Relu") {
      result = values(node.inputs[0]);
      std::for_each(result.begin(), result.end(),
                    [](auto& q) { q = std::max<std::int64_t>(q, 0); });
    } else {
      throw tare::Error(tare::ErrorCode::kUnsupported, node.name,
                        "the Lark has no '" + node.op + "'");
    }
  }

 private:
  const Shape& shape(ValueId value) const { return graph_.type(value).shape; }
  const Integers& values(ValueId value) {
    if (!known_.contains(value)) {
      known_[value] = graph_.constant(value)->to_int64();
    }
    return known_.at(value);
  }
  int exponent(ValueId value) const { return std::ilogb(graph_.type(value).quant->scale[0]); }
  std::int64_t stored(ValueId value, std::int64_t q) const {
    const tare::StorageRange range = graph_.type(value).quant->range();
    return std::clamp(q, range.low, range.high);
  }

  /// Images of one or two dimensions, without groups; products by input channel, then by place.
  Integers convolve(const Node& node) {
    const Integers& x = values(node.inputs[0]);
    const Integers& w = values(node.inputs[1]);
    const auto as_2d = [](Shape s) {
      s.resize(4, 1);
      return s;
    };
    const Shape in = as_2d(shape(node.inputs[0]));
    const Shape kernel = as_2d(shape(node.inputs[1]));
    const Shape out = as_2d(shape(node.outputs[0]));
    const std::size_t rank = shape(node.inputs[0]).size() - 2;
    auto pads = node.attributes.integers("pads", Integers(2 * rank, 0));
    auto strides = node.attributes.integers("strides", Integers(rank, 1));
    auto dilations = node.attributes.integers("dilations", Integers(rank, 1));
    pads.insert(pads.begin() + static_cast<std::ptrdiff_t>(rank), 2 - rank, 0);
    strides.resize(2, 1);
    dilations.resize(2, 1);
    Integers result;
    for (std::int64_t n = 0; n < out[0]; ++n) {
      for (std::int64_t o = 0; o < out[1]; ++o) {
        for (std::int64_t oy = 0; oy < out[2]; ++oy) {
          for (std::int64_t ox = 0; ox < out[3]; ++ox) {
            std::int64_t sum = 0;
            for (std::int64_t i = 0; i < in[1]; ++i) {
              for (std::int64_t ky = 0; ky < kernel[2]; ++ky) {
                for (std::int64_t kx = 0; kx < kernel[3]; ++kx) {
                  const std::int64_t y = oy * strides[0] - pads[0] + ky * dilations[0];
                  const std::int64_t at = ox * strides[1] - pads[1] + kx * dilations[1];
                  if (y < 0 || y >= in[2] || at < 0 || at >= in[3]) {
                    continue;
                  }
                  sum = saturated(
                      sum +
                      x[static_cast<std::size_t>(((n * in[1] + i) * in[2] + y) * in[3] + at)] *
                          w[static_cast<std::size_t>(
                              ((o * in[1] + i) * kernel[2] + ky) * kernel[3] + kx)]);
                }
              }
            }
            result.push_back(sum);
          }
        }
      }
    }
    return result;
  }

  /// Rows of the first factor and columns of the second, whose leading dimensions are those of
  /// the first or absent.
  Integers multiply(const Node& node) {
    const Integers& a = values(node.inputs[0]);
    const Integers& b = values(node.inputs[1]);
    const Shape& right = shape(node.inputs[1]);
    const bool transposed = node.op == "Gemm" && node.attributes.integer("transB", 0) != 0;
    const std::int64_t depth = shape(node.inputs[0]).back();
    const std::int64_t columns = shape(node.outputs[0]).back();
    const std::int64_t matrices = tare::element_count(right) / (depth * columns);
    const std::int64_t rows = tare::element_count(shape(node.inputs[0])) / depth;
    Integers result;
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t matrix = matrices == 1 ? 0 : row / (rows / matrices);
      for (std::int64_t column = 0; column < columns; ++column) {
        std::int64_t sum = 0;
        for (std::int64_t k = 0; k < depth; ++k) {
          const std::int64_t at = transposed ? column * depth + k : k * columns + column;
          sum = saturated(sum + a[static_cast<std::size_t>(row * depth + k)] *
                                    b[static_cast<std::size_t>(matrix * depth * columns + at)]);
        }
        result.push_back(sum);
      }
    }
    return result;
  }

  /// By a power of two; halves go up.
  Integers shift(const Node& node) {
    Integers result = values(node.inputs[0]);
    const int right = exponent(node.outputs[0]) - exponent(node.inputs[0]);
    for (std::int64_t& q : result) {
      q = stored(node.outputs[0],
                 right > 0 ? (q + (std::int64_t{1} << (right - 1))) >> right : q << -right);
    }
    return result;
  }

  /// Both in steps of the finer one; then halves go to the even neighbour.
  Integers add(const Node& node) {
    const int finest = std::min(
        {exponent(node.inputs[0]), exponent(node.inputs[1]), exponent(node.outputs[0])});
    const int right = exponent(node.outputs[0]) - finest;
    const auto operand = [&](std::size_t i) {
      return std::pair(&values(node.inputs[i]), exponent(node.inputs[i]) - finest);
    };
    const auto [a, a_shift] = operand(0);
    const auto [b, b_shift] = operand(1);
    const Shape& out = shape(node.outputs[0]);
    Integers result(static_cast<std::size_t>(tare::element_count(out)));
    for (std::size_t i = 0; i < result.size(); ++i) {
      const std::int64_t sum = ((*a)[place(node.inputs[0], out, i)] << a_shift) +
                               ((*b)[place(node.inputs[1], out, i)] << b_shift);
      const std::int64_t floor = sum >> right;
      const std::int64_t twice_rest = 2 * (sum - (floor << right));
      const std::int64_t one = std::int64_t{1} << right;
      const bool up = twice_rest > one || (twice_rest == one && floor % 2 != 0);
      result[i] = stored(node.outputs[0], floor + (up ? 1 : 0));
    }
    return result;
  }

  /// Where an operand that is repeated along some axes has what element i of the result reads.
  std::size_t place(ValueId operand, const Shape& out, std::size_t i) const {
    const Shape& own = shape(operand);
    std::int64_t rest = static_cast<std::int64_t>(i);
    std::int64_t stride = 1;
    std::int64_t at = 0;
    for (std::size_t axis = 1; axis <= own.size(); ++axis) {
      const std::int64_t extent = out[out.size() - axis];
      const std::int64_t own_extent = own[own.size() - axis];
      at += own_extent == 1 ? 0 : rest % extent * stride;
      stride *= own_extent;
      rest /= extent;
    }
    return static_cast<std::size_t>(at);
  }

  const Graph& graph_;
  std::map<ValueId, Integers>& known_;
};

}  // namespace lark
