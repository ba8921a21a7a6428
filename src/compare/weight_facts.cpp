// Figures of the weights of a layer: error and range of each output channel, and how close
// biases are to the ends of int32. One pass over the weights.
#include "compare/weight_facts.h"

#include "compare/deviation.h"
#include "graph/arithmetic/per_axis.h"
#include "graph/operators/product.h"
#include "lower/conversions.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

namespace tare {
namespace {

constexpr std::size_t kWeight = 1;
constexpr std::size_t kBias = 2;

const Tensor* constant_operand(const Graph& graph, const Node& node, std::size_t operand) {
  return operand < node.inputs.size() && node.inputs[operand]
             ? graph.constant(node.inputs[operand])
             : nullptr;
}

/// Also behind the Dequantize of a product of real values.
ValueId stored_weight(const Graph& graph, const Node& node) {
  if (node.inputs.size() <= kWeight || !node.inputs[kWeight]) {
    return {};
  }
  const ValueId weight = node.inputs[kWeight];
  return is_op(graph, weight, "Dequantize") ? operand_of(graph, weight) : weight;
}

/// The largest of each channel.
void set_scales_of_blocks(const QuantParams& params, const WeightResults& results,
                          const Shape& shape, std::vector<ChannelReport>& channels) {
  for_each_slice(shape, params.axis, params.block,
                 [&](std::size_t place, std::size_t first, std::size_t /*count*/) {
                   ChannelReport& channel = channels[results.of(first)];
                   const auto scale = static_cast<double>(params.scale[place]);
                   if (scale > channel.scale) {
                     channel.scale = scale;
                     channel.zero_point = params.zero_point[place];
                   }
                 });
}

bool is_transposed(const Node& node) {
  return node.op == "Gemm" && weight_layout(node, 2).output == 0;
}

Tensor transposed(const Tensor& matrix) {
  const std::int64_t rows = matrix.shape()[0];
  const std::int64_t columns = matrix.shape()[1];
  Tensor result(DType::kFloat32, {columns, rows});
  const auto from = matrix.view<float>();
  const auto to = result.mutable_view<float>();
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      to[static_cast<std::size_t>(column * rows + row)] =
          from[static_cast<std::size_t>(row * columns + column)];
    }
  }
  return result;
}

double magnitude(const ChannelReport& channel) {
  return std::max(-channel.low, channel.high);
}

std::optional<double> sqnr_of(const ErrorSums& sums) {
  return sums.dd > 0 && sums.xx > 0 ? std::optional(10 * std::log10(sums.xx / sums.dd))
                                    : std::nullopt;
}

std::optional<double> range_ratio(const std::vector<ChannelReport>& channels) {
  double widest = 0;
  double narrowest = std::numeric_limits<double>::infinity();
  for (const ChannelReport& channel : channels) {
    if (magnitude(channel) > 0) {
      widest = std::max(widest, magnitude(channel));
      narrowest = std::min(narrowest, magnitude(channel));
    }
  }
  return widest > 0 ? std::optional(widest / narrowest) : std::nullopt;
}

/// The storage values of the bias; empty when there is none.
std::span<const std::int32_t> bias_of(const Graph& integer, const Node& node) {
  const Tensor* bias = constant_operand(integer, node, kBias);
  return bias != nullptr && bias->dtype() == DType::kInt32 ? bias->view<std::int32_t>()
                                                           : std::span<const std::int32_t>{};
}

}  // namespace

std::optional<Tensor> exact_weights(const Graph& prepared, const Node& real,
                                    const Graph& integer, const Node& quantized) {
  const Tensor* exact = constant_operand(prepared, real, kWeight);
  if (exact == nullptr || exact->dtype() != DType::kFloat32) {
    return std::nullopt;
  }
  Tensor result = is_transposed(real) == is_transposed(quantized) ? *exact : transposed(*exact);
  return result.shape() == integer.type(quantized.inputs[kWeight]).shape
             ? std::optional(std::move(result))
             : std::nullopt;
}

std::optional<WeightReport> weight_facts(const Graph& prepared, const Node& real,
                                         const Graph& integer, const Node& quantized) {
  const auto exact = exact_weights(prepared, real, integer, quantized);
  const ValueId storage = stored_weight(integer, quantized);
  const Tensor* stored = storage ? integer.constant(storage) : nullptr;
  if (!exact || stored == nullptr) {
    return std::nullopt;
  }
  const auto& params = integer.type(storage).quant;
  if (!params) {
    return std::nullopt;
  }
  const WeightResults results(quantized, exact->shape());
  const Tensor expressed = dequantize(*stored, *params);
  const auto x = exact->view<float>();
  const auto y = expressed.view<float>();
  WeightReport report{.name = prepared.name(real.inputs[kWeight]),
                      .storage = params->storage,
                      .axis = params->axis,
                      .block = params->block,
                      .sqnr = sqnr_of(error_sums(x, y)),
                      .range_ratio = {},
                      .channels = std::vector<ChannelReport>(results.count())};
  std::vector<ErrorSums> sums(results.count());
  std::vector<bool> visited(results.count());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t result = results.of(i);
    ChannelReport& channel = report.channels[result];
    const auto value = static_cast<double>(x[i]);
    channel.low = visited[result] ? std::min(channel.low, value) : value;
    channel.high = visited[result] ? std::max(channel.high, value) : value;
    visited[result] = true;
    sums[result].add(error_sums(x.subspan(i, 1), y.subspan(i, 1)));
  }
  for (std::size_t result = 0; result < results.count(); ++result) {
    ChannelReport& channel = report.channels[result];
    if (params->block == 0) {
      const std::size_t own = result % params->scale.size();
      channel.scale = static_cast<double>(params->scale[own]);
      channel.zero_point = params->zero_point[own];
    }
    channel.sqnr = sqnr_of(sums[result]);
  }
  if (params->block != 0) {
    set_scales_of_blocks(*params, results, exact->shape(), report.channels);
  }
  report.range_ratio = range_ratio(report.channels);
  return report;
}

std::size_t count_widened(const WeightReport& weight, const Graph& integer,
                          const Node& quantized) {
  // A widened channel's bias takes up nearly all of int32; what others widen for does not.
  constexpr double kNearlyAll = 0x1p30;
  constexpr double kWider = 1.01;
  const auto bias = bias_of(integer, quantized);
  const StorageRange range = storage_range(weight.storage, true);
  std::size_t count = 0;
  for (std::size_t i = 0; i < std::min(bias.size(), weight.channels.size()); ++i) {
    const ChannelReport& channel = weight.channels[i];
    const double reach = channel.scale * static_cast<double>(range.high);
    const bool is_wider = reach > kWider * magnitude(channel);
    count += is_wider && std::abs(static_cast<double>(bias[i])) > kNearlyAll ? 1U : 0U;
  }
  return count;
}

std::optional<double> bias_margin(const Graph& integer, const Node& quantized) {
  double largest = 0;
  for (const std::int32_t value : bias_of(integer, quantized)) {
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  constexpr double kMost = std::numeric_limits<std::int32_t>::max();
  return largest > 0 ? std::optional(std::log2(kMost / largest)) : std::nullopt;
}

}  // namespace tare
