
#include "graph/operators/product.h"
#include "kernels/endings.h"
#include "kernels/layer.h"
#include "support/graphs.h"

#include <gtest/gtest.h>

namespace tare::test {
namespace {

const char* name_of(const Layer& layer) {
  return layer.transposed ? "ConvTranspose" : "Conv";
}

/// Calls f(element of the result, its channel).
template <class F>
void for_each_result(const Layer& layer, F f) {
  const Shape y = layer.y();
  const auto count = static_cast<std::size_t>(element_count(y));
  const std::size_t positions = count / static_cast<std::size_t>(y[0] * y[1]);
  for (std::size_t i = 0; i < count; ++i) {
    f(i, i / positions % static_cast<std::size_t>(y[1]));
  }
}

std::string wrong_convolution(LayerKind kind, Random& random) {
  const Layer layer = random_layer(kind, random);
  Trial trial(random);
  const auto x = trial.operand(layer.x(), false);
  const auto weights = trial.operand(layer.weights(), !one_in(4, random));
  std::vector<ValueId> operands{x.id, weights.id};
  std::vector<Sum> sums(static_cast<std::size_t>(element_count(layer.y())));
  if (!one_in(3, random)) {
    const auto bias = trial.operand({layer.y()[1]}, !one_in(4, random));
    operands.push_back(bias.id);
    for_each_result(layer, [&](std::size_t at, std::size_t channel) {
      sums[at].add(1, static_cast<double>(bias.values.view<float>()[channel]));
    });
  }
  const auto from = x.values.view<float>();
  const auto factors = weights.values.view<float>();
  for_each_product(layer, [&](const Meeting& at) {
    sums[at.y].add(static_cast<double>(from[at.x]), static_cast<double>(factors[at.weight]));
  });
  Expected expected(sums, trial.whole);
  const Ending ending(layer.y(), 1, random);
  const ValueId y = trial.add(name_of(layer), operands, ending.sum_type(), layer.attributes());
  return trial.wrong(ending.append(trial, y, expected), expected);
}

/// Sums of at most so many products, each rounded once when multiplied and once when added;
/// small integers are exact in any order.
TEST(RandomShapes, OfConvolutionsGiveTheSumsOfAPlainLoop) {
  hold_for_random_shapes(
      [](Random& random) { return wrong_convolution(LayerKind::kAny, random); });
}

TEST(RandomShapes, OfDepthwiseConvolutionsGiveTheSumsOfAPlainLoop) {
  hold_for_random_shapes(
      [](Random& random) { return wrong_convolution(LayerKind::kDepthwise, random); });
}

TEST(RandomShapes, OfTransposedConvolutionsGiveTheSumsOfAPlainLoop) {
  hold_for_random_shapes(
      [](Random& random) { return wrong_convolution(LayerKind::kTransposed, random); });
}

/// A row of zero points, or one.
std::vector<std::int32_t> zero_points(DType type, std::size_t count, Random& random) {
  const auto range = storage_range(type, false);
  std::vector<std::int32_t> zeros(count);
  for (auto& zero : zeros) {
    zero = static_cast<std::int32_t>(random.integer(range.low, range.high));
  }
  return zeros;
}

TensorType storage_type(DType type, Shape shape, std::vector<std::int32_t> zeros) {
  QuantParams params{.storage = type,
                     .scale = std::vector<float>(zeros.size(), 1),
                     .zero_point = zeros,
                     .axis = {}};
  if (zeros.size() > 1) {
    params.axis = 0;
  }
  return {.dtype = type, .shape = std::move(shape), .quant = params, .point = {}};
}

/// Of bytes most often, and of 16 bits.
DType random_storage_type(Random& random) {
  return one_in(6, random) ? (random.coin() ? DType::kUint16 : DType::kInt16)
                           : (random.coin() ? DType::kUint8 : DType::kInt8);
}

/// What `layer` gives of integers less their zero points, without bias.
Expected exact_sums(const Layer& layer, const Tensor& x, std::int64_t x_zero, const Tensor& w,
                    const std::vector<std::int32_t>& w_zeros) {
  const auto from = x.to_int64();
  const auto factors = w.to_int64();
  std::vector<std::int64_t> sums(static_cast<std::size_t>(element_count(layer.y())));
  const std::size_t block = factors.size() / w_zeros.size();
  for_each_product(layer, [&](const Meeting& at) {
    sums[at.y] += (from[at.x] - x_zero) * (factors[at.weight] - w_zeros[at.weight / block]);
  });
  Expected expected(sums.size());
  std::copy(sums.begin(), sums.end(), expected.values.begin());  // below 2^53
  return expected;
}

std::string wrong_integer_convolution(const Layer& layer, Random& random) {
  const DType x_type = random_storage_type(random);
  const DType w_type = random_storage_type(random);
  Trial trial(random);
  const bool per_axis = !layer.transposed && random.coin();
  auto w_zeros =
      zero_points(w_type, per_axis ? static_cast<std::size_t>(layer.weights()[0]) : 1, random);
  if (random.coin()) {  // as most files have it
    std::fill(w_zeros.begin(), w_zeros.end(), w_type == DType::kUint8 ? 128 : 0);
  }
  const auto x_zero = zero_points(x_type, 1, random);
  const auto x = trial.operand(random_storage(x_type, layer.x(), random),
                               storage_type(x_type, layer.x(), x_zero), false);
  // Zero points of weights that are computed are those of one tensor.
  const auto weights = trial.operand(random_storage(w_type, layer.weights(), random),
                                     storage_type(w_type, layer.weights(), w_zeros),
                                     per_axis || !one_in(4, random));
  std::vector<ValueId> operands{x.id, weights.id};
  Expected expected = exact_sums(layer, x.values, x_zero[0], weights.values, w_zeros);
  if (random.coin()) {
    Tensor bias(DType::kInt32, {layer.y()[1]});
    const std::int64_t most = one_in(6, random) ? 1 << 30 : 20000;
    for (auto& value : bias.mutable_view<std::int32_t>()) {
      value = static_cast<std::int32_t>(random.integer(-most, most));
    }
    operands.push_back(
        trial.operand(bias, storage_type(DType::kInt32, bias.shape(), {0}), true).id);
    for_each_result(layer, [&](std::size_t at, std::size_t channel) {
      expected.values[at] += bias.view<std::int32_t>()[channel];
    });
  }
  const IntegerEnding ending(sum_type(x_type, w_type, {}), layer.y(), 1, random);
  const ValueId y = trial.add(name_of(layer), operands, ending.sum_type(), layer.attributes());
  return trial.wrong(ending.append(trial, y, expected), expected);
}

/// A layer of bytes in a simulated graph. Float sums of integers are exact up to 2^24.
std::string wrong_simulated_convolution(const Layer& layer, Random& random) {
  Trial trial(random);
  trial.whole = false;
  const DType x_type = random.coin() ? DType::kUint8 : DType::kInt8;
  const auto x_zero = random.coin() ? zero_points(x_type, 1, random) : std::vector{0};
  const TensorType from = storage_type(x_type, layer.x(), x_zero);
  const auto x =
      simulated_operand(trial, random_storage(x_type, layer.x(), random), from, false);
  const auto weights =
      simulated_operand(trial, random_storage(DType::kInt8, layer.weights(), random),
                        storage_type(DType::kInt8, layer.weights(), {0}), !one_in(4, random));
  std::vector<ValueId> operands{without_zero_point(trial, x, from), weights.id};
  std::vector<Sum> sums(static_cast<std::size_t>(element_count(layer.y())));
  const auto values = x.values.to_double();
  const auto factors = weights.values.to_double();
  for_each_product(layer, [&](const Meeting& at) {
    sums[at.y].add(values[at.x] - x_zero[0], factors[at.weight]);
  });
  if (random.coin()) {
    Tensor bias(DType::kFloat32, {layer.y()[1]});
    for (float& value : bias.mutable_view<float>()) {
      value = static_cast<float>(random.integer(-20000, 20000));
    }
    const TensorType type = storage_type(DType::kInt32, bias.shape(), {0});
    operands.push_back(simulated_operand(trial, bias, type, true).id);
    for_each_result(layer, [&](std::size_t at, std::size_t channel) {
      sums[at].add(static_cast<double>(bias.view<float>()[channel]), 1);
    });
  }
  const bool exact = std::all_of(sums.begin(), sums.end(),
                                 [](const Sum& sum) { return sum.magnitude <= 0x1p24; });
  Expected expected(sums, exact);
  const Ending ending(layer.y(), 1, random);
  const ValueId y = trial.add(name_of(layer), operands, ending.sum_type(), layer.attributes());
  return trial.wrong(ending.append(trial, y, expected), expected);
}

TEST(RandomShapes, OfSimulatedConvolutionsGiveTheSumsOfAPlainLoop) {
  hold_for_random_shapes([](Random& random) {
    const auto kind = static_cast<LayerKind>(random.integer(0, 2));
    return wrong_simulated_convolution(random_layer(kind, random), random);
  });
}

std::string wrong_conv_integer(Random& random) {
  const Layer layer =
      random_layer(random.coin() ? LayerKind::kDepthwise : LayerKind::kAny, random);
  Trial trial(random);
  const auto byte = [&] { return random.coin() ? DType::kUint8 : DType::kInt8; };
  const DType x_type = byte();
  const DType w_type = byte();
  const Tensor x_zero = random_storage(x_type, {}, random);
  const Tensor w_zero =
      random_storage(w_type, {random.coin() ? layer.weights()[0] : 1}, random);
  const auto operand = [&](const Tensor& values, bool constant) {
    return trial.operand(values, typed(values.dtype(), values.shape()), constant).id;
  };
  const Tensor x = random_storage(x_type, layer.x(), random);
  const Tensor weights = random_storage(w_type, layer.weights(), random);
  std::vector<std::int32_t> w_zeros;
  for (const std::int64_t zero : w_zero.to_int64()) {
    w_zeros.push_back(static_cast<std::int32_t>(zero));
  }
  const std::vector<ValueId> operands{operand(x, false), operand(weights, random.coin()),
                                      operand(x_zero, random.coin()),
                                      operand(w_zero, random.coin())};
  const ValueId y =
      trial.add("ConvInteger", operands, typed(DType::kInt32, layer.y()), layer.attributes());
  return trial.wrong(y, exact_sums(layer, x, x_zero.to_int64()[0], weights, w_zeros));
}

TEST(RandomShapes, OfIntegerConvolutionsGiveTheVeryIntegersOfAPlainLoop) {
  hold_for_random_shapes([](Random& random) {
    if (one_in(4, random)) {
      return wrong_conv_integer(random);
    }
    const auto kind = static_cast<LayerKind>(random.integer(0, 2));
    return wrong_integer_convolution(random_layer(kind, random), random);
  });
}

SlidingAxis sliding(SlidingAxis axis) {
  axis.out = axis.room() / axis.stride + 1;
  return axis;
}

/// Such as networks have, larger than the random ones; the sums of the deep one may be more
/// than float32 holds. oneDNN 2.6 has implementations for the last two whose code it cannot
/// write.
TEST(LayersOfNetworks, OfBytesGiveTheSumsOfAPlainLoop) {
  const SlidingAxis one{};
  const SlidingAxis plane = sliding({.in = 14});
  const SlidingAxis padded = sliding({.in = 14, .kernel = 3, .begin = 1, .end = 1});
  const SlidingAxis halved = sliding({.in = 28, .kernel = 3, .stride = 2, .end = 1});
  const std::vector<Layer> layers{
      {.inputs = 96, .outputs = 192, .axes = {plane, plane}},
      {.inputs = 768, .outputs = 1001, .axes = {one, one}},
      {.inputs = 2048, .outputs = 16, .axes = {one, one}},
      {.inputs = 64, .outputs = 64, .axes = {sliding({.in = 128}), one}},
      {.groups = 96, .axes = {padded, padded}},
      {.groups = 144, .axes = {halved, halved}},
      {.inputs = 3, .outputs = 32, .axes = {halved, halved}},
      {.inputs = 64, .outputs = 32, .axes = {padded, padded}},
      {.inputs = 40, .outputs = 64, .axes = {sliding({.in = 99, .kernel = 9})}},
      {.groups = 2,
       .inputs = 4,
       .outputs = 48,
       .axes = {sliding({.in = 9}), sliding({.in = 18, .kernel = 3, .stride = 2})}},
      {.groups = 5,
       .inputs = 4,
       .outputs = 16,
       .axes = {sliding({.in = 1, .kernel = 3, .begin = 4}),
                sliding({.in = 28, .kernel = 2, .stride = 3})}}};
  hold_for_random_shapes([&](Random& random) {
    const auto number = static_cast<std::size_t>(random.integer(0, std::ssize(layers) - 1));
    return random.coin() ? wrong_integer_convolution(layers[number], random)
                         : wrong_simulated_convolution(layers[number], random);
  });
}

}  // namespace
}  // namespace tare::test
