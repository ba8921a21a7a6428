#include "fuzz/sequences.h"

#include "fuzz/layers.h"

#include <array>
#include <cmath>
#include <string>
#include <utility>

namespace tare::fuzz {
namespace {

struct Recurrence {
  const char* op;
  std::int64_t gates;
};

/// LSTM, GRU or RNN over the second axis: all states, or the last one.
ValueId recurrent(Drawing& d, ValueId x) {
  constexpr std::array<Recurrence, 3> kAll{{{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}}};
  const Recurrence& layer = kAll.at(static_cast<std::size_t>(d.choose.below(3)));
  constexpr std::array kDirections{"forward", "reverse", "bidirectional"};
  const auto direction = static_cast<std::size_t>(d.choose.below(3));
  const std::int64_t both = direction == 2 ? 2 : 1;
  const std::int64_t hidden = d.choose.between(1, 5);
  const std::int64_t channels = d.shape_of(x)[2];
  const ValueId in_time = d.op("Transpose", {x},
                               d.each(x,
                                      [](const Shape& s) {
                                        return Shape{s[1], s[0], s[2]};
                                      }),
                               {{"perm", Integers{1, 0, 2}}});
  const std::int64_t rows = layer.gates * hidden;
  std::vector<ValueId> operands{in_time, d.constant({both, rows, channels}, channels),
                                d.constant({both, rows, hidden}, hidden)};
  if (d.choose.coin()) {
    operands.push_back(d.constant({both, 2 * rows}, 2));
  }
  Attributes attributes{{"hidden_size", hidden},
                        {"direction", std::string(kDirections.at(direction))}};
  if (layer.gates == 3) {
    attributes.set("linear_before_reset", d.choose.below(2));
  }
  const std::vector<ValueId> results = d.ops(layer.op, operands,
                                             {d.each(x,
                                                     [&](const Shape& s) {
                                                       return Shape{s[1], both, s[0], hidden};
                                                     }),
                                              d.each(x,
                                                     [&](const Shape& s) {
                                                       return Shape{both, s[0], hidden};
                                                     })},
                                             attributes);
  if (d.choose.rarely(3)) {
    return d.op("Transpose", {results[1]},
                d.each(x,
                       [&](const Shape& s) {
                         return Shape{s[0], both, hidden};
                       }),
                {{"perm", Integers{1, 0, 2}}});
  }
  const ValueId states = d.op("Transpose", {results[0]},
                              d.each(x,
                                     [&](const Shape& s) {
                                       return Shape{s[0], s[1], both, hidden};
                                     }),
                              {{"perm", Integers{2, 0, 1, 3}}});
  return d.op("Reshape", {states, d.integers({0, 0, both * hidden})},
              d.each(x, [&](const Shape& s) {
                return Shape{s[0], s[1], both * hidden};
              }));
}

/// Of two products with the same value, softmax, and a mean of it with these shares.
std::optional<ValueId> attention(Drawing& d, ValueId x) {
  const std::int64_t channels = d.shape_of(x)[2];
  const auto queries = product_with(d, x, channels);
  const auto keys = product_with(d, x, channels);
  if (!queries || !keys) {
    return {};
  }
  const ValueId turned = d.op("Transpose", {*keys},
                              d.each(x,
                                     [](const Shape& s) {
                                       return Shape{s[0], s[2], s[1]};
                                     }),
                              {{"perm", Integers{0, 2, 1}}});
  const Shapes pairs = d.each(x, [](const Shape& s) { return Shape{s[0], s[1], s[1]}; });
  ValueId scores = d.op("MatMul", {*queries, turned}, pairs);
  scores = d.op("Mul", {scores, d.scalar(1 / std::sqrt(static_cast<float>(channels)))}, pairs);
  const ValueId shares = d.op("Softmax", {scores}, pairs, {{"axis", std::int64_t{-1}}});
  return d.op("MatMul", {shares, x}, d.shapes_of(x));
}

ValueId convolution_along(Drawing& d, ValueId x) {
  const std::int64_t channels = d.shape_of(x)[2];
  const std::int64_t results = d.choose.between(1, 5);
  const ValueId in_front = d.op("Transpose", {x},
                                d.each(x,
                                       [](const Shape& s) {
                                         return Shape{s[0], s[2], s[1]};
                                       }),
                                {{"perm", Integers{0, 2, 1}}});
  const ValueId result =
      d.op("Conv", {in_front, d.constant({results, channels, 3}, 3 * channels)},
           d.each(x,
                  [&](const Shape& s) {
                    return Shape{s[0], results, s[1]};
                  }),
           {{"kernel_shape", Integers{3}}, {"pads", Integers{1, 1}}});
  return d.op("Transpose", {result},
              d.each(x,
                     [&](const Shape& s) {
                       return Shape{s[0], s[1], results};
                     }),
              {{"perm", Integers{0, 2, 1}}});
}

}  // namespace

std::optional<ValueId> sequence_layer(Drawing& d, ValueId x) {
  if (d.rank_of(x) != 3 || !d.is_fixed(x, 2)) {
    return {};
  }
  switch (d.choose.below(8)) {
    case 0:
      return attention(d, x);
    case 1:
      return convolution_along(d, x);
    case 2: {
      const Shape channels{d.shape_of(x)[2]};
      return d.op("LayerNormalization", {x, d.constant(channels), d.constant(channels)},
                  d.shapes_of(x), {{"axis", std::int64_t{-1}}, {"epsilon", 0.125F}});
    }
    case 3:
      return d.op("ReduceMean", {x},
                  d.each(x,
                         [](const Shape& s) {
                           return Shape{s[0], s[2]};
                         }),
                  {{"axes", Integers{1}}, {"keepdims", std::int64_t{0}}});
    case 4:
      return product_with(d, x, d.choose.between(1, 5));
    default:
      return recurrent(d, x);
  }
}

}  // namespace tare::fuzz
