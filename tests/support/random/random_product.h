#pragma once

#include "tare/graph.h"

#include "graph/arithmetic/node_arithmetic.h"
#include "graph/operators/product.h"
#include "support/graphs.h"
#include "support/index.h"
#include "support/random/random_convolution.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tare::test {

/// A sum of products on random storage values, as one node between an input and an output.
class RandomProduct {
 public:
  enum class Op : std::uint8_t { kConv, kDepthwise, kTransposed, kMatMul, kGemm };
  static constexpr std::array kOps{Op::kConv, Op::kDepthwise, Op::kTransposed, Op::kMatMul,
                                   Op::kGemm};

  /// Bytes each of the factors has.
  struct Widths {
    int x = 1;
    int w = 1;
  };

  RandomProduct(Op op, Random& random) : RandomProduct(op, random, Widths()) {}

  RandomProduct(Op op, Random& random, Widths widths) : op_(op) {
    choose_shapes(random);
    const auto type = [&](int bytes) {
      return bytes == 1 ? (random.coin() ? DType::kUint8 : DType::kInt8)
                        : (random.coin() ? DType::kUint16 : DType::kInt16);
    };
    x_params = params(type(widths.x), 1, random);
    const bool per_axis = random.coin() && op != Op::kTransposed;
    w_params = params(type(widths.w), per_axis ? results() : 1, random);
    if (per_axis) {
      w_params.axis = static_cast<int>(op == Op::kMatMul ? w_shape.size() - 1 : 0);
    }
    x = storage(x_params, x_shape, random);
    w = storage(w_params, w_shape, random);
    if (random.coin() && op != Op::kMatMul) {
      bias.emplace(DType::kInt32, Shape{static_cast<std::int64_t>(results())});
      for (std::int32_t& value : bias->mutable_view<std::int32_t>()) {
        value = static_cast<std::int32_t>(random.integer(-20000, 20000));
      }
    }
  }

  /// The factors of one result, less their zero points, in the order in which they are added.
  std::vector<std::pair<std::int64_t, std::int64_t>> products(const Shape& at) const {
    std::vector<std::pair<std::int64_t, std::int64_t>> result;
    const auto add = [&](const Shape& x_at, const Shape& w_at) {
      result.emplace_back(x_value(x_at), w_value(w_at));
    };
    if (op_ == Op::kMatMul || op_ == Op::kGemm) {
      for (std::int64_t k = 0; k < x_shape.back(); ++k) {
        Shape x_at = at;
        x_at.back() = k;
        add(x_at, op_ == Op::kGemm ? Shape{at.back(), k} : Shape{k, at.back()});
      }
      return result;
    }
    const bool transposed = op_ == Op::kTransposed;
    const std::int64_t inputs = x_shape[1] / conv.groups;
    const std::int64_t group = at[1] / (y_shape[1] / conv.groups);
    Shape taps = w_shape;
    taps[0] = inputs;
    taps[1] = 1;
    for_each_index(taps, [&](const Shape& tap) {
      Shape x_at{at[0], group * inputs + tap[0]};
      bool meets = true;
      for (std::size_t axis = 0; axis + 2 < at.size(); ++axis) {
        std::int64_t i = at[axis + 2];
        const std::int64_t reach = tap[axis + 2] * conv.dilations[axis] - conv.pads[axis];
        if (transposed) {
          meets = meets && (i - reach) % conv.strides[axis] == 0;
          i = (i - reach) / conv.strides[axis];
        } else {
          i = i * conv.strides[axis] + reach;
        }
        meets = meets && i >= 0 && i < x_shape[axis + 2];
        x_at.push_back(i);
      }
      if (meets) {
        Shape w_at = tap;
        w_at[0] = transposed ? x_at[1] : at[1];
        w_at[1] = transposed ? at[1] % (y_shape[1] / conv.groups) : tap[0];
        add(x_at, w_at);
      }
    });
    return result;
  }

  std::int64_t bias_of(const Shape& at) const {
    return bias ? bias->view<std::int32_t>()[static_cast<std::size_t>(result_of(at))] : 0;
  }

  /// With storage values, or with floats that hold them less their zero points.
  Graph integer(const Accumulator& held) const { return graph(held, false); }
  Graph simulated(const Accumulator& held) const { return graph(held, true); }
  Tensor simulated_x() const { return centred(x, x_params); }

  QuantParams x_params, w_params;
  Shape x_shape, w_shape, y_shape;
  Tensor x, w;
  std::optional<Tensor> bias;

 private:
  static QuantParams params(DType storage, std::size_t count, Random& random) {
    const StorageRange range = storage_range(storage, false);
    QuantParams result{.storage = storage,
                       .scale = std::vector<float>(count, 1),
                       .zero_point = {},
                       .axis = {}};
    for (std::size_t i = 0; i < count; ++i) {
      result.zero_point.push_back(
          static_cast<std::int32_t>(random.integer(range.low, range.high)));
    }
    return result;
  }

  static Tensor storage(const QuantParams& params, const Shape& shape, Random& random) {
    Tensor result(params.storage, shape);
    for (std::size_t i = 0; i < result.byte_size(); ++i) {
      result.mutable_data()[i] = static_cast<std::byte>(random.integer(0, 255));
    }
    return result;
  }

  static Tensor centred(const Tensor& values, const QuantParams& params) {
    return dequantize(values, params);  // scales are 1
  }

  void choose_shapes(Random& random) {
    if (op_ == Op::kMatMul || op_ == Op::kGemm) {
      const std::int64_t rows = random.integer(1, 4);
      const std::int64_t depth = random.integer(1, 60);
      const std::int64_t columns = random.integer(1, 5);
      x_shape = {rows, depth};
      w_shape = op_ == Op::kGemm ? Shape{columns, depth} : Shape{depth, columns};
      y_shape = {rows, columns};
      if (op_ == Op::kMatMul) {
        x_shape.insert(x_shape.begin(), 2);
        y_shape.insert(y_shape.begin(), 2);
      }
      return;
    }
    conv = random_convolution(random);
    if (op_ == Op::kDepthwise) {
      conv.groups = random.integer(2, 5);
      conv.x[1] = conv.y[1] = conv.weight[0] = conv.groups;
      conv.weight[1] = 1;
    }
    const bool transposed = op_ == Op::kTransposed;
    x_shape = transposed ? conv.y : conv.x;
    y_shape = transposed ? conv.x : conv.y;
    w_shape = conv.weight;
    for (std::size_t axis = 0; transposed && axis + 2 < y_shape.size(); ++axis) {
      const std::size_t end = axis + conv.strides.size();
      y_shape[axis + 2] =
          std::max<std::int64_t>(1, (x_shape[axis + 2] - 1) * conv.strides[axis] +
                                        (w_shape[axis + 2] - 1) * conv.dilations[axis] + 1 -
                                        conv.pads[axis] - conv.pads[end]);
      conv.pads[end] = (x_shape[axis + 2] - 1) * conv.strides[axis] +
                       (w_shape[axis + 2] - 1) * conv.dilations[axis] + 1 - conv.pads[axis] -
                       y_shape[axis + 2];
    }
  }

  std::size_t results() const {
    return static_cast<std::size_t>(is_matrix() ? y_shape.back() : y_shape[1]);
  }
  bool is_matrix() const { return op_ == Op::kMatMul || op_ == Op::kGemm; }
  std::int64_t result_of(const Shape& at) const { return is_matrix() ? at.back() : at[1]; }

  std::int64_t x_value(const Shape& at) const {
    return x.to_int64()[offset(x_shape, at)] - x_params.zero_point[0];
  }
  std::int64_t w_value(const Shape& at) const {
    const auto channel =
        w_params.axis ? static_cast<std::size_t>(at[static_cast<std::size_t>(*w_params.axis)])
                      : 0;
    return w.to_int64()[offset(w_shape, at)] - w_params.zero_point[channel];
  }

  Graph graph(const Accumulator& held, bool simulated) const {
    const auto type = [&](const Shape& shape, const QuantParams& quant) {
      return simulated
                 ? f32(shape)
                 : TensorType{
                       .dtype = quant.storage, .shape = shape, .quant = quant, .point = {}};
    };
    const QuantParams biases{
        .storage = DType::kInt32, .scale = {1}, .zero_point = {0}, .axis = {}};
    QuantParams sums = biases;
    sums.storage = sum_type(x_params.storage, w_params.storage, held);
    Graph graph;
    std::vector<ValueId> operands{
        graph.add_input("x", type(x_shape, x_params)),
        graph.add_constant("w", simulated ? centred(w, w_params) : w, type(w_shape, w_params))};
    if (bias) {
      operands.push_back(graph.add_constant("b", simulated ? centred(*bias, biases) : *bias,
                                            type(bias->shape(), biases)));
    }
    TensorType result{.dtype = simulated ? DType::kFloat32 : sums.storage,
                      .shape = y_shape,
                      .quant = sums,
                      .point = simulated ? "sums" : ""};
    Attributes attributes = is_matrix() ? Attributes{} : conv.attributes();
    if (op_ == Op::kGemm) {
      attributes.set("transB", std::int64_t{1});
    }
    set_accumulator(attributes, held);
    const NodeId node = graph.add_node("", name(), operands, {{"y", result}}, attributes);
    graph.set_outputs({graph.node(node).outputs[0]});
    verify(graph);
    return graph;
  }

  const char* name() const {
    return op_ == Op::kMatMul       ? "MatMul"
           : op_ == Op::kGemm       ? "Gemm"
           : op_ == Op::kTransposed ? "ConvTranspose"
                                    : "Conv";
  }

  Op op_;
  Convolution conv;
};

}  // namespace tare::test
