// What sums of products have in common: whose weights belong to which result, how many
// multiplications there are, and how large sums can become. For the latter, weights above and
// below 0 are added up apart: all of the one kind with the largest input and all of the other
// with the smallest is the worst that can happen, and some input does it. One pass over the
// weights.
#include "graph/operators/product.h"

#include "tare/error.h"
#include "tare/graph.h"

#include "graph/arithmetic/per_axis.h"
#include "graph/arithmetic/storage_type.h"

#include <algorithm>
#include <array>
#include <functional>

namespace tare {
namespace {

/// At least 1: without weights there is nothing to divide among results.
std::size_t extent(const Shape& shape, std::size_t axis) {
  return static_cast<std::size_t>(std::max<std::int64_t>(shape.at(axis), 1));
}

/// Of the kernel [input, result, ...] of a ConvTranspose.
std::size_t groups_of(const Node& node, const Shape& shape) {
  const std::int64_t groups = node.attributes.integer("group", 1);
  if (groups < 1 || shape.at(0) % groups != 0) {
    throw Error(ErrorCode::kInvalidModel, "node '" + node.name + "'",
                "weight " + to_string(shape) + " does not fall into " + std::to_string(groups) +
                    " groups");
  }
  return static_cast<std::size_t>(groups);
}

/// What a storage value less its zero point can be; holds 0.
struct Reach {
  std::int64_t low;
  std::int64_t high;
};

Reach reach(const QuantParams& params, std::size_t channel) {
  const StorageRange range = params.range();
  return {range.low - params.zero_point[channel], range.high - params.zero_point[channel]};
}

/// Of all channels.
Reach reach(const QuantParams& params) {
  Reach all{0, 0};
  for (std::size_t channel = 0; channel < params.zero_point.size(); ++channel) {
    const Reach own = reach(params, channel);
    all = {std::min(all.low, own.low), std::max(all.high, own.high)};
  }
  return all;
}

SumRange sum_of_products(Reach x, Reach w, std::int64_t count) {
  return {count * std::min(x.low * w.high, x.high * w.low),
          count * std::max(x.low * w.low, x.high * w.high)};
}

/// The sums of the weights of each result that lie above and below 0.
struct Halves {
  std::vector<std::int64_t> above;
  std::vector<std::int64_t> below;

  explicit Halves(std::size_t results) : above(results), below(results) {}

  void add(std::size_t result, std::int64_t weight) {
    above[result] += std::max<std::int64_t>(weight, 0);
    below[result] += std::min<std::int64_t>(weight, 0);
  }
};

/// Weights that share a zero point, in vector code.
template <class Storage>
void add_all(std::span<const Storage> weights, Storage zero, const WeightResults& results,
             Halves& halves) {
  results.for_each_run(
      [&](std::size_t result, std::size_t step, std::size_t first, std::size_t count) {
        const Storage* const run = weights.data() + first;
        std::int64_t* const above = halves.above.data() + result;
        std::int64_t* const below = halves.below.data() + result;
        const auto one = [&](std::size_t i) { return std::int32_t{run[i]} - zero; };
        if (step == 1) {
          for (std::size_t i = 0; i < count; ++i) {
            above[i] += std::max(one(i), 0);
            below[i] += std::min(one(i), 0);
          }
          return;
        }
        std::int64_t positive = 0;
        std::int64_t negative = 0;
        for (std::size_t i = 0; i < count; ++i) {
          positive += std::max(one(i), 0);
          negative += std::min(one(i), 0);
        }
        *above += positive;
        *below += negative;
      });
}

Halves halves_of(const Tensor& weights, const TensorType& type, const WeightResults& results) {
  const QuantParams& params = *type.quant;
  Halves halves(results.count());
  with_storage(params.storage, [&](auto tag) {
    using Storage = decltype(tag);
    const auto values = weights.view<Storage>();
    const auto& zeros = params.zero_point;
    if constexpr (sizeof(Storage) < sizeof(std::int32_t)) {
      if (std::adjacent_find(zeros.begin(), zeros.end(), std::not_equal_to<>()) ==
          zeros.end()) {
        add_all<Storage>(values, static_cast<Storage>(zeros[0]), results, halves);
        return;
      }
    }
    for_each_slice(type.shape, params.axis,
                   [&](std::size_t channel, std::size_t first, std::size_t count) {
                     const std::int64_t zero = params.zero_point[channel];
                     const std::size_t end = first + count;
                     for (std::size_t i = first; i < end;) {
                       const std::size_t own = results.of(i);
                       const std::size_t last = std::min(end, i + results.alike(i));
                       for (; i < last; ++i) {
                         halves.add(own, std::int64_t{values[i]} - zero);
                       }
                     }
                   });
  });
  return halves;
}

}  // namespace

bool is_product(const Node& node) {
  static constexpr std::array<std::string_view, 4> kProducts{"Conv", "ConvTranspose", "Gemm",
                                                             "MatMul"};
  return std::find(kProducts.begin(), kProducts.end(), node.op) != kProducts.end();
}

WeightLayout weight_layout(const Node& node, std::size_t rank) {
  const bool transposed = node.op == "Gemm" && node.attributes.integer("transB", 0) != 0;
  if (node.op == "Conv" || transposed) {
    return {.output = 0, .input = 1};
  }
  if (node.op == "ConvTranspose") {
    return {.output = 1, .input = 0};
  }
  return {.output = rank - 1, .input = rank - 2};
}

int channel_axis(const Node& node, const Shape& result) {
  return node.op == "MatMul" || node.op == "Gemm" ? static_cast<int>(result.size()) - 1 : 1;
}

bool is_integer_product(const Graph& graph, const Node& node) {
  const TensorType& result = graph.type(node.outputs[0]);
  return is_product(node) && result.quant && is_sum_type(result.dtype);
}

DType sum_type(DType x, DType w, const Accumulator& held) {
  const bool is_wide = size_of(x) > 1 || size_of(w) > 1;
  return is_wide && held == Accumulator{} ? DType::kInt64 : DType::kInt32;
}

bool is_recurrent(const Node& node) {
  return node.op == "LSTM" || node.op == "GRU" || node.op == "RNN";
}

double multiplications(const Graph& graph, const Node& node) {
  const auto count = [&](ValueId value) {
    return static_cast<double>(element_count(graph.type(value).shape));
  };
  if (is_recurrent(node)) {
    const Shape& x = graph.type(node.inputs[0]).shape;
    const auto steps = static_cast<double>(x[0] * x[1]);  // of all sequences
    return steps * (count(node.inputs[1]) + count(node.inputs[2]));
  }
  if (!is_product(node)) {
    return 0;
  }
  const Shape& x = graph.type(node.inputs[0]).shape;
  const Shape& w = graph.type(node.inputs[1]).shape;
  if (node.op == "Conv") {
    const double of_each = count(node.inputs[1]) / static_cast<double>(w[0]);
    return count(node.outputs[0]) * of_each;
  }
  if (node.op == "ConvTranspose") {
    const double of_each = count(node.inputs[1]) / static_cast<double>(w[0]);
    return count(node.inputs[0]) * of_each;
  }
  const bool is_transposed = node.op == "Gemm" && node.attributes.integer("transA", 0) != 0;
  return count(node.outputs[0]) * static_cast<double>(is_transposed ? x[0] : x.back());
}

double multiplications(const Graph& graph) {
  double all = 0;
  for (const NodeId id : graph.nodes()) {
    all += multiplications(graph, graph.node(id));
  }
  return all;
}

WeightResults::WeightResults(const Node& node, const Shape& shape) {
  std::size_t size = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    size *= extent(shape, axis);
  }
  outer_ = size;
  if (node.op != "MatMul" && weight_layout(node, shape.size()).output == 0) {
    count_ = extent(shape, 0);  // [result, ...]
    outer_ = size / count_;
    inner_ = outer_;
    results_of_outer_ = 1;
  } else if (node.op == "ConvTranspose") {
    // [group, input, result, position]
    const std::size_t groups = groups_of(node, shape);
    cycle_ = extent(shape, 1);
    count_ = groups * cycle_;
    outer_ = size / groups;
    results_of_outer_ = cycle_;
    inner_ = size / (extent(shape, 0) * cycle_);
  } else if (shape.size() >= 2) {
    // [..., depth, result]
    cycle_ = extent(shape, shape.size() - 1);
    outer_ = extent(shape, shape.size() - 2) * cycle_;
    count_ = size / outer_ * cycle_;
    results_of_outer_ = cycle_;
  }
  weights_ = static_cast<std::size_t>(element_count(shape)) / count_;
}

WeightOperands::WeightOperands(const Node& node, const Shape& weights) {
  const auto positions = static_cast<std::size_t>(element_count(weights)) / extent(weights, 0) /
                         extent(weights, 1);
  const auto groups = static_cast<std::size_t>(node.attributes.integer("group", 1));
  if (node.op == "Conv") {
    inner_ = positions;
    cycle_ = extent(weights, 1);
    outer_ = extent(weights, 0) / groups * cycle_ * positions;  // weights of one group
    count_ = extent(weights, 0) % groups == 0 ? groups * cycle_ : 0;
  } else if (node.op == "Gemm" && weight_layout(node, weights.size()).input == 1) {
    count_ = cycle_ = extent(weights, 1);
    outer_ = extent(weights, 0) * cycle_;
  } else {
    // ConvTranspose and matrices have the operand's channels first.
    inner_ = extent(weights, 1) * positions;
    count_ = cycle_ = extent(weights, 0);
    outer_ = cycle_ * inner_;
  }
}

std::vector<SumRange> worst_case_accumulators(const ProductOperands& operands) {
  const WeightResults results(*operands.node, operands.w->shape);
  const Reach x = reach(*operands.x->quant);
  std::vector<SumRange> sums;
  if (operands.weights == nullptr) {
    const auto count = static_cast<std::int64_t>(results.weights());
    sums = {sum_of_products(x, reach(*operands.w->quant), count)};
  } else {
    const Halves w = halves_of(*operands.weights, *operands.w, results);
    for (std::size_t i = 0; i < w.above.size(); ++i) {
      sums.push_back(
          {w.above[i] * x.low + w.below[i] * x.high, w.above[i] * x.high + w.below[i] * x.low});
    }
  }
  if (operands.bias == nullptr) {
    return sums;
  }
  const auto bias = operands.bias->view<std::int32_t>();
  if (operands.weights == nullptr) {
    const auto [least, most] = std::minmax_element(bias.begin(), bias.end());
    sums[0].add(*least, *most);
    return sums;
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i].add(bias[i % bias.size()], bias[i % bias.size()]);
  }
  return sums;
}

}  // namespace tare
