// Products with weights in blocks as ONNX Runtime's MatMulNBits, which holds the integers of a
// result in whole blocks, without signs, the first ones in the low bits of each byte. It takes
// blocks of 16, 32 and so on up to 256, and integers of 2, 4 and 8 bits. One look at each
// weight.

#include "tare/graph.h"

#include "graph/ir/derived_names.h"
#include "graph/operators/product.h"
#include "lower/forms/engine_wishes.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>

namespace tare {
namespace {

constexpr std::int64_t kSmallestBlock = 16;
constexpr std::int64_t kLargestBlock = 256;

bool is_block_size(std::int64_t size) {
  return size >= kSmallestBlock && size <= kLargestBlock &&
         std::has_single_bit(static_cast<std::uint64_t>(size));
}

/// Weights of one product, [depth, columns] whichever way they are stored.
struct Blocks {
  std::int64_t depth = 0;
  std::int64_t columns = 0;
  std::int64_t size = 0;             ///< of a block
  bool turned = false;               ///< stored as [columns, depth]
  const Tensor* integers = nullptr;  ///< int8 or uint8
  std::vector<float> scales;
  std::vector<std::int64_t> zero_points;  ///< as the scales

  std::int64_t count() const { return (depth + size - 1) / size; }
  std::int64_t integer(std::size_t place) const {
    return integers->dtype() == DType::kInt8 ? integers->view<std::int8_t>()[place]
                                             : integers->view<std::uint8_t>()[place];
  }
  std::size_t at(std::int64_t row, std::int64_t column, std::int64_t rows) const {
    return static_cast<std::size_t>(turned ? column * rows + row : row * columns + column);
  }
};

/// Of a DequantizeLinear of constants along the axis that the product sums over.
std::optional<Blocks> blocks_of(const Graph& graph, const Node& product) {
  const auto producer = graph.producer(product.inputs[1]);
  const Node* node = producer ? &graph.node(*producer) : nullptr;
  if (node == nullptr || node->op != "DequantizeLinear" ||
      !node->attributes.has("block_size")) {
    return std::nullopt;
  }
  const Tensor* integers = graph.constant(node->inputs[0]);
  const Tensor* scales = graph.constant(node->inputs[1]);
  const bool has_zero = node->inputs.size() > 2 && node->inputs[2];
  const Tensor* zero = has_zero ? graph.constant(node->inputs[2]) : nullptr;
  const auto is_byte = [](const Tensor& tensor) {
    return tensor.dtype() == DType::kInt8 || tensor.dtype() == DType::kUint8;
  };
  if (integers == nullptr || !is_byte(*integers) || integers->shape().size() != 2 ||
      scales == nullptr || scales->dtype() != DType::kFloat32 ||
      (has_zero && zero == nullptr)) {
    return std::nullopt;
  }
  const Shape& shape = integers->shape();
  const auto axis = static_cast<std::size_t>(node->attributes.integer("axis", 1) + 2) % 2;
  const std::int64_t size = node->attributes.integer("block_size");
  if (axis != weight_layout(product, 2).input || !is_block_size(size)) {
    return std::nullopt;
  }
  Blocks result{.depth = shape[axis],
                .columns = shape[1 - axis],
                .size = size,
                .turned = axis == 1,
                .integers = integers,
                .scales = scales->to_float(),
                .zero_points = {}};
  result.zero_points =
      zero != nullptr ? zero->to_int64() : std::vector<std::int64_t>(result.scales.size(), 0);
  return result;
}

/// The fewest bits of a kernel that hold all integers: between -2^(b-1) and 2^(b-1) - 1 where
/// zero points are 0, which they are then moved by, else between 0 and 2^b - 1.
std::optional<std::int64_t> bits_of(const Blocks& blocks, bool is_signed) {
  std::int64_t low = std::numeric_limits<std::int64_t>::max();
  std::int64_t high = std::numeric_limits<std::int64_t>::min();
  for (std::size_t i = 0; i < static_cast<std::size_t>(blocks.integers->size()); ++i) {
    low = std::min(low, blocks.integer(i));
    high = std::max(high, blocks.integer(i));
  }
  for (const std::int64_t bits : {2, 4, 8}) {
    const std::int64_t half = is_signed ? std::int64_t{1} << (bits - 1) : 0;
    if (low >= -half && high < (std::int64_t{1} << bits) - half) {
      return bits;
    }
  }
  return std::nullopt;
}

void pack(std::uint8_t* row, std::int64_t index, std::int64_t bits, std::int64_t value) {
  const std::int64_t in_byte = 8 / bits;
  row[index / in_byte] |= static_cast<std::uint8_t>(value << (index % in_byte * bits));
}

/// The operands behind the first one.
struct Packed {
  Tensor integers;
  Tensor scales;
  std::optional<Tensor> zero_points;
};

Packed packed_blocks(const Blocks& blocks, std::int64_t bits, bool is_signed) {
  const std::int64_t half = is_signed ? std::int64_t{1} << (bits - 1) : 0;
  const std::int64_t count = blocks.count();
  const std::int64_t block_bytes = blocks.size * bits / 8;
  const std::int64_t zero_bytes = (count * bits + 7) / 8;
  Packed result{Tensor(DType::kUint8, {blocks.columns, count, block_bytes}),
                Tensor(DType::kFloat32, {blocks.columns * count}), std::nullopt};
  auto* bytes = reinterpret_cast<std::uint8_t*>(result.integers.mutable_data());
  const auto scales = result.scales.mutable_view<float>();
  Tensor zeros(DType::kUint8, {blocks.columns * zero_bytes});
  auto* zero_rows = reinterpret_cast<std::uint8_t*>(zeros.mutable_data());
  for (std::int64_t column = 0; column < blocks.columns; ++column) {
    std::uint8_t* row = bytes + column * count * block_bytes;
    for (std::int64_t i = 0; i < count * blocks.size; ++i) {
      // Beyond the last row the operand is taken to be 0.
      const std::int64_t value =
          i < blocks.depth ? blocks.integer(blocks.at(i, column, blocks.depth)) : 0;
      pack(row, i, bits, value + half);
    }
    for (std::int64_t block = 0; block < count; ++block) {
      const std::size_t from = blocks.at(block, column, count);
      scales[static_cast<std::size_t>(column * count + block)] = blocks.scales[from];
      pack(zero_rows + column * zero_bytes, block, bits, blocks.zero_points[from] + half);
    }
  }
  if (!is_signed) {
    result.zero_points = std::move(zeros);
  }
  return result;
}

bool is_plain(const Graph& graph, const Node& node) {
  if (node.op == "MatMul") {
    return true;
  }
  return node.op == "Gemm" && node.attributes.integer("transA", 0) == 0 &&
         node.attributes.real("alpha", 1) == 1 && node.attributes.real("beta", 1) == 1 &&
         graph.type(node.inputs[0]).shape.size() == 2;
}

void replace(Graph& graph, const Node& node, const Blocks& blocks, std::int64_t bits,
             bool is_signed, std::int64_t accuracy_level) {
  const std::string result = graph.name(node.outputs[0]);
  const std::string weight = graph.name(node.inputs[1]);
  const TensorType type = graph.type(node.outputs[0]);
  const auto constant = [&](const char* suffix, Tensor tensor) {
    return graph.add_constant(graph.unique_name(weight + suffix), std::move(tensor));
  };
  Packed packed = packed_blocks(blocks, bits, is_signed);
  std::vector<ValueId> operands{node.inputs[0], constant("_packed", std::move(packed.integers)),
                                constant("_scales", std::move(packed.scales))};
  if (packed.zero_points) {
    operands.push_back(constant("_zero_points", *std::move(packed.zero_points)));
  }
  Attributes attributes;
  attributes.set("K", blocks.depth);
  attributes.set("N", blocks.columns);
  attributes.set("bits", bits);
  attributes.set("block_size", blocks.size);
  if (accuracy_level > 0) {
    attributes.set("accuracy_level", accuracy_level);
  }
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2];
  const ValueId before = node.outputs[0];
  const NodeId product =
      graph.add_node(graph.unique_name(node.name), "MatMulNBits", std::move(operands),
                     {{graph.unique_name(result), type}}, std::move(attributes));
  NodeId last = product;
  if (has_bias) {
    last = graph.add_node(graph.unique_name(node.name + "_bias"), "Add",
                          {graph.node(product).outputs[0], node.inputs[2]},
                          {{graph.unique_name(result), type}});
  }
  graph.replace_uses(before, graph.node(last).outputs[0]);
  take_place(graph, *graph.producer(before), product);
  take_name(graph, graph.node(last).outputs[0], result);
}

}  // namespace

Graph with_n_bit_products(Graph onnx, std::int64_t accuracy_level) {
  for (const NodeId id : onnx.topological_order()) {
    const Node node = onnx.node(id);
    if (!is_plain(onnx, node)) {
      continue;
    }
    const auto blocks = blocks_of(onnx, node);
    if (!blocks || blocks->integers->size() == 0) {
      continue;
    }
    const bool is_signed = std::all_of(blocks->zero_points.begin(), blocks->zero_points.end(),
                                       [](std::int64_t zero) { return zero == 0; });
    if (const auto bits = bits_of(*blocks, is_signed)) {
      replace(onnx, node, *blocks, *bits, is_signed, accuracy_level);
    }
  }
  onnx.erase_unused();
  return onnx;
}

}  // namespace tare
