// Ranges of blocks that are fitted to what their weights are multiplied by.
#include "calibrate/rounding/block_ranges.h"

#include "tare/graph.h"

#include "support/graphs.h"
#include "support/random/random.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace tare::test {
namespace {

constexpr std::int64_t kDepth = 48;
constexpr std::int64_t kOutputs = 5;
constexpr std::int64_t kRows = 64;
constexpr int kBlock = 16;

struct BlockLayer {
  BlockLayer() {
    Random random{17};
    weights = random.tensor({kDepth, kOutputs});
    // One large weight in each block, where what it is multiplied by is small.
    for (std::int64_t b = 0; b < kDepth / kBlock; ++b) {
      for (std::int64_t o = 0; o < kOutputs; ++o) {
        weights.mutable_view<float>()[static_cast<std::size_t>(b * kBlock * kOutputs + o)] = 8;
      }
    }
    input = random.tensor({1, kRows, kDepth});
    for (std::int64_t i = 0; i < kRows * kDepth; i += kBlock) {
      input.mutable_view<float>()[static_cast<std::size_t>(i)] *= 0.01F;
    }
    const ValueId x = graph.add_input("x", f32({1, kRows, kDepth}));
    const ValueId w = graph.add_constant("w", weights);
    graph.set_outputs({add(graph, "MatMul", {x, w}, {1, kRows, kOutputs})});
  }

  LayerRows rows() const {
    LayerRows result(graph, graph.node(graph.nodes()[0]), 1);
    const TensorType type = f32({1, kRows, kDepth});
    result.observe(0, {&type, input.data(), false});
    return result;
  }

  Graph graph;
  Tensor weights;
  Tensor input;
};

QuantSpec spec_of(bool symmetric) {
  QuantSpec spec{.storage = symmetric ? DType::kInt8 : DType::kUint8};
  spec.symmetric = symmetric;
  spec.granularity = Granularity::kPerAxis;
  spec.axis = 0;
  spec.block = kBlock;
  spec.bits = 4;
  return spec;
}

std::vector<Range> whole_ranges(const Tensor& weights) {
  std::vector<Range> ranges(static_cast<std::size_t>(kDepth / kBlock * kOutputs));
  const auto values = weights.view<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    Range& range = ranges[i / (kBlock * kOutputs) * kOutputs + i % kOutputs];
    range.low = std::min(range.low, static_cast<double>(values[i]));
    range.high = std::max(range.high, static_cast<double>(values[i]));
  }
  return ranges;
}

/// Of the products of all rows, by a loop, with the nearest integers.
double error_of_products(const BlockLayer& layer, const QuantParams& params) {
  const auto exact = layer.weights.view<float>();
  const auto rounded = dequantize(quantize(layer.weights, params), params).to_float();
  const auto x = layer.input.view<float>();
  double sum = 0;
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t o = 0; o < kOutputs; ++o) {
      double lost = 0;
      for (std::size_t c = 0; c < kDepth; ++c) {
        lost += static_cast<double>(x[row * kDepth + c]) *
                static_cast<double>(exact[c * kOutputs + o] - rounded[c * kOutputs + o]);
      }
      sum += lost * lost;
    }
  }
  return sum;
}

TEST(BlockRanges, CutOffWhatIsMultipliedByLittle) {
  const BlockLayer layer;
  for (const bool symmetric : {true, false}) {
    const QuantSpec spec = spec_of(symmetric);
    PointResult result;
    result.calibrated = whole_ranges(layer.weights);
    result.params = to_quant_params(result.calibrated, spec);
    const double before = error_of_products(layer, result.params);
    fit_block_ranges(layer.weights, spec, layer.rows(), 1, result);
    // Steps that halve have a quarter of the error; the large weights count next to nothing.
    EXPECT_LT(error_of_products(layer, result.params), 0.4 * before) << symmetric;
    PointResult again;
    again.calibrated = whole_ranges(layer.weights);
    fit_block_ranges(layer.weights, spec, layer.rows(), 3, again);
    EXPECT_EQ(again.params, result.params) << "for any number of threads";
  }
}

}  // namespace
}  // namespace tare::test
