// Bounds of the sums that a layer adds up, for weights as they are rounded and for any storage
// values of its input: all weights above 0 meet the largest input and those below 0 the
// smallest, or the other way round (graph/product.cpp). A pass over the weights for each bias.
// The coarser bound that no weights can exceed takes no pass, and spares the other one where a
// result has fewer than some 33,000 weights of 8 bits.
#include "simulate/accumulated.h"

#include "tare/simulate.h"

#include "graph/operators/product.h"
#include "simulate/quantized_constants.h"

#include <algorithm>
#include <optional>

namespace tare {
namespace {

/// The rows that are added to the accumulators of a point, as integers; nothing where there are
/// none.
std::vector<Tensor> bias_rows(const SimulatedGraph& simulated, const QuantPoint& point,
                              const PointResult& accumulator, const QuantParams& params) {
  std::vector<Tensor> rows;
  for (const ValueId bias : point.biases) {
    const Tensor& real = *simulated.source.constant(bias);
    rows.push_back(real.reshaped({real.size()}));
  }
  if (rows.empty() && !accumulator.bias_correction.empty()) {
    rows.emplace_back(DType::kFloat32,
                      Shape{static_cast<std::int64_t>(accumulator.bias_correction.size())});
  }
  for (Tensor& row : rows) {
    row = quantize(corrected_bias(row, accumulator), params);
  }
  return rows;
}

/// The largest distance of a storage value to a zero point.
double farthest_from_zero(const QuantParams& params) {
  const auto [low, high] = params.range();
  std::int64_t result = 0;
  for (const std::int64_t zero_point : params.zero_point) {
    result = std::max({result, std::abs(low - zero_point), std::abs(high - zero_point)});
  }
  return static_cast<double>(result);
}

}  // namespace

QuantParams accumulated_params(const QuantParams& input, const QuantParams& weight) {
  QuantParams params{.storage = DType::kInt32,
                     .scale = weight.scale,
                     .zero_point = std::vector<std::int32_t>(weight.scale.size()),
                     .axis = {},
                     .narrow_range = false};
  for (float& scale : params.scale.mutable_view()) {
    scale *= input.scale[0];
  }
  if (weight.per_axis()) {
    params.axis = 0;
  }
  return params;
}

std::vector<SumRange> worst_case_accumulators(const SimulatedGraph& simulated,
                                              const QuantPoint& point,
                                              const QuantTable& table) {
  const Node& node = simulated.source.node(*point.reader);
  const PointResult& weight = table.at(point.weight);
  const auto factor = [&](std::size_t operand, const QuantParams& params) {
    return TensorType{.dtype = params.storage,
                      .shape = simulated.source.type(node.inputs[operand]).shape,
                      .quant = params,
                      .point = {}};
  };
  const TensorType x = factor(0, table.at(point.input).params);
  const TensorType w = factor(1, weight.params);
  const Tensor* exact = simulated.source.constant(node.inputs[1]);
  const auto weights =
      exact == nullptr ? std::nullopt : std::optional(quantized_weight(*exact, weight));
  ProductOperands operands{
      .node = &node, .x = &x, .w = &w, .weights = weights ? &*weights : nullptr};
  std::vector<SumRange> all = worst_case_accumulators(operands);
  for (const Tensor& row : bias_rows(simulated, point, table.at(point.name),
                                     accumulated_params(*x.quant, *w.quant))) {
    operands.bias = &row;
    const std::vector<SumRange> with_bias = worst_case_accumulators(operands);
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = {std::min(all[i].low, with_bias[i].low),
                std::max(all[i].high, with_bias[i].high)};
    }
  }
  return all;
}

double largest_sum(const SimulatedGraph& simulated, const QuantPoint& point,
                   const QuantTable& table) {
  const Node& node = simulated.source.node(*point.reader);
  const QuantParams& x = table.at(point.input).params;
  const QuantParams& w = table.at(point.weight).params;
  double bias = 0;
  for (const Tensor& row :
       bias_rows(simulated, point, table.at(point.name), accumulated_params(x, w))) {
    for (const std::int32_t value : row.view<std::int32_t>()) {
      bias = std::max(bias, std::abs(static_cast<double>(value)));
    }
  }
  const WeightResults results(node, simulated.source.type(node.inputs[1]).shape);
  return static_cast<double>(results.weights()) * farthest_from_zero(x) *
             farthest_from_zero(w) +
         bias;
}

}  // namespace tare
