#include "support/random/any_graph.h"

#include "support/params.h"

#include <cmath>
#include <vector>

namespace tare::test {
namespace {

const Shape kShape{2, 4, 4, 4};

/// Powers of two and even zero points, so that rounding in another order gives the same.
QuantParams any_params(FakeQuantizedBuilder& b) {
  const float scale = std::ldexp(1.0F, static_cast<int>(b.random.integer(-5, 0)));
  if (b.wide && b.random.integer(0, 2) > 0) {
    const DType storage = b.random.integer(0, 1) == 0 ? DType::kInt16 : DType::kUint16;
    const std::int64_t low = storage_range(storage, false).low / 2;
    return params(storage, scale,
                  static_cast<std::int32_t>(2 * b.random.integer(low, low + 32'767)));
  }
  return params(DType::kUint8, scale, static_cast<std::int32_t>(2 * b.random.integer(0, 127)));
}

ValueId any_step(FakeQuantizedBuilder& b, const std::vector<ValueId>& values) {
  const auto pick = [&] {
    return values[static_cast<std::size_t>(
        b.random.integer(0, static_cast<std::int64_t>(values.size()) - 1))];
  };
  const ValueId x = pick();
  const Attributes window{{"kernel_shape", std::vector<std::int64_t>{3, 3}},
                          {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}};
  switch (b.random.integer(0, 13)) {
    case 0:
      return b.op("Relu", {x}, kShape);
    case 1:
      return b.op("Transpose", {x}, kShape, {{"perm", std::vector<std::int64_t>{0, 3, 1, 2}}});
    case 2:
      return b.op("MaxPool", {x}, kShape, window);
    case 3:
      return b.op("AveragePool", {x}, kShape, window);
    case 4:
      return b.op("Tanh", {x}, kShape);
    case 5:
      return b.op("Max", {x, pick()}, kShape);
    case 6:  // not listed
      return b.op("CumSum", {x, b.real(Tensor::of<std::int64_t>({}, {1}))}, kShape);
    case 7:
      return b.op(
          "Clip",
          {x, b.real(Tensor::of<float>({}, {-0.3F})), b.real(Tensor::of<float>({}, {2.7F}))},
          kShape);
    case 8:
      return b.op("Add", {x, pick()}, kShape);
    case 9:
      return b.op("Mul", {x, pick()}, kShape);
    case 10:
      return b.op(
          "Concat",
          {b.op("Slice", {x, b.indices({0}), b.indices({2}), b.indices({1})}, {2, 2, 4, 4}),
           b.op("Slice", {pick(), b.indices({1}), b.indices({3}), b.indices({1})},
                {2, 2, 4, 4})},
          kShape, {{"axis", std::int64_t{1}}});
    case 11: {
      const bool is_signed = b.random.integer(0, 1) == 1;
      const QuantParams q =
          is_signed ? per_axis(DType::kInt8, 0, {0.5F, 0.25F, 1, 0.125F}, {0, 0, 0, 0})
                    : u8(0.5F, 100);
      const ValueId bias = b.real(Tensor::of<float>({4}, {-8, 0, 4, 16}));
      return b.quantized_and_back(
          b.op("Conv",
               {b.quantized_and_back(x, any_params(b)), b.weight({4, 4, 1, 1}, q), bias},
               kShape),
          any_params(b));
    }
    default:
      return b.quantized_and_back(x, any_params(b));
  }
}

}  // namespace

Graph any_graph(FakeQuantizedBuilder& b) {
  std::vector<ValueId> values{b.input(kShape, any_params(b)), b.input(kShape, any_params(b))};
  for (int i = 0; i < 12; ++i) {
    values.push_back(any_step(b, values));
  }
  // The last one, and one on the way that others may read too.
  const ValueId between = values[static_cast<std::size_t>(b.random.integer(2, 12))];
  b.graph.set_outputs(between == values.back() ? std::vector{between}
                                               : std::vector{between, values.back()});
  return b.graph;
}

}  // namespace tare::test
