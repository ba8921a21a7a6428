// Operators of ONNX Runtime's domain that stand for a few of ONNX: those of diffusion networks,
// and products with weights in blocks of few bits.
#include "tare/error.h"

#include "onnx/constants.h"
#include "onnx/normalize/runtime_rules.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tare {
namespace {

Error no_form(const std::string& what) {
  return {ErrorCode::kUnsupported, "", what + " is not supported"};
}

/// GroupNormalization of images whose channels are last, and x * sigmoid(x) of it if asked for.
void finish_group_norm(NodeParts& parts, ValueId data, ValueId scale, ValueId bias) {
  const Attributes& attributes = parts.attributes();
  const Shape shape = parts.shape(data);
  const std::int64_t groups = attributes.integer("groups", 0);
  const std::int64_t channels = shape.size() == 4 ? shape[3] : 0;
  if (groups < 1 || channels % groups != 0 || channels == 0) {
    throw Error(
        ErrorCode::kInvalidModel, "",
        "data of shape " + to_string(shape) + " in " + std::to_string(groups) + " groups");
  }
  if (attributes.integer("channels_last", 1) == 0) {
    throw no_form("'channels_last' of 0");
  }
  const DType dtype = parts.dtype(data);
  const ValueId first = parts.transpose("channels_first", data, {0, 3, 1, 2});
  const ValueId grouped = parts.reshape("grouped", first, {0, groups, -1});
  const ValueId normal = parts.add("normal", "InstanceNormalization",
                                   {grouped, parts.constant("one", filled(dtype, {groups}, 1)),
                                    parts.constant("zero", Tensor(dtype, {groups}))},
                                   {{"epsilon", attributes.real("epsilon", 1e-5F)}});
  const ValueId whole = parts.reshape("whole", normal, {0, channels, shape[1], shape[2]});
  const ValueId last = parts.transpose("channels_last", whole, {0, 2, 3, 1});
  const ValueId scaled = parts.add("scaled", "Mul", {last, scale});
  if (attributes.integer("activation", 0) == 0) {
    parts.finish("Add", {scaled, bias});
    return;
  }
  const ValueId sum = parts.add("sum", "Add", {scaled, bias});
  parts.finish("Mul", {sum, parts.add("gate", "Sigmoid", {sum})});
}

/// One of the integers of a row, in its low bits first.
std::int64_t packed_integer(const std::uint8_t* row, std::int64_t index, std::int64_t bits) {
  const std::int64_t in_byte = 8 / bits;
  const unsigned byte = row[index / in_byte];
  return (byte >> static_cast<unsigned>(index % in_byte * bits)) & ((1U << bits) - 1U);
}

struct BlockWeights {
  std::int64_t depth = 0;    ///< K
  std::int64_t columns = 0;  ///< N
  std::int64_t bits = 4;
  std::int64_t size = 32;  ///< of a block
  const Tensor* integers = nullptr;
  std::vector<float> scales{};
  const Tensor* zero_points = nullptr;  ///< packed as the integers, or reals; may be null

  std::int64_t blocks() const { return (depth + size - 1) / size; }
  std::int64_t row_bytes(std::int64_t count) const { return (count * bits + 7) / 8; }

  /// As integers of 8 bits, [depth, columns]; the zero points of `depth` blocks are stored as
  /// rows of integers are. Signed ones have had their middle taken off.
  template <class T>
  Tensor unpacked(const Tensor& packed, std::int64_t rows, std::int64_t row_size,
                  DType dtype) const {
    Tensor result(dtype, {rows, columns});
    auto numbers = result.mutable_view<T>();
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(packed.data());
    const std::int64_t middle =
        dtype == DType::kInt8 ? std::int64_t{1} << static_cast<unsigned>(bits - 1) : 0;
    const std::int64_t runs = (rows + row_size - 1) / row_size;
    for (std::int64_t column = 0; column < columns; ++column) {
      for (std::int64_t i = 0; i < rows; ++i) {
        const std::uint8_t* row = bytes + (column * runs + i / row_size) * row_bytes(row_size);
        numbers[static_cast<std::size_t>(i * columns + column)] =
            static_cast<T>(packed_integer(row, i % row_size, bits) - middle);
      }
    }
    return result;
  }

  /// [blocks, columns]
  Tensor block_scales() const {
    Tensor result(DType::kFloat32, {blocks(), columns});
    auto numbers = result.mutable_view<float>();
    for (std::int64_t column = 0; column < columns; ++column) {
      for (std::int64_t block = 0; block < blocks(); ++block) {
        numbers[static_cast<std::size_t>(block * columns + column)] =
            scales[static_cast<std::size_t>(column * blocks() + block)];
      }
    }
    return result;
  }

  float zero_point(std::int64_t column, std::int64_t block) const {
    if (zero_points == nullptr) {
      return static_cast<float>(std::int64_t{1} << (bits - 1));
    }
    if (zero_points->dtype() != DType::kUint8) {
      return zero_points->to_float()[static_cast<std::size_t>(column * blocks() + block)];
    }
    const auto* rows = reinterpret_cast<const std::uint8_t*>(zero_points->data());
    return static_cast<float>(packed_integer(rows + column * row_bytes(blocks()), block, bits));
  }

  /// [depth, columns]
  Tensor reals() const {
    Tensor weight(DType::kFloat32, {depth, columns});
    auto numbers = weight.mutable_view<float>();
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(integers->data());
    for (std::int64_t column = 0; column < columns; ++column) {
      for (std::int64_t block = 0; block < blocks(); ++block) {
        const std::int64_t at = column * blocks() + block;
        const std::uint8_t* row = bytes + at * row_bytes(size);
        const float zero = zero_point(column, block);
        for (std::int64_t i = 0; i < size && block * size + i < depth; ++i) {
          numbers[static_cast<std::size_t>((block * size + i) * columns + column)] =
              scales[static_cast<std::size_t>(at)] *
              (static_cast<float>(packed_integer(row, i, bits)) - zero);
        }
      }
    }
    return weight;
  }
};

/// The weights behind a DequantizeLinear in blocks: signed integers where zero points are the
/// middle.
ValueId dequantized(NodeParts& parts, const BlockWeights& weights) {
  const bool has_zeros = weights.zero_points != nullptr;
  // Before any is added, as graphs that grow move the constants that these are made of.
  Tensor integers = has_zeros ? weights.unpacked<std::uint8_t>(*weights.integers, weights.depth,
                                                               weights.size, DType::kUint8)
                              : weights.unpacked<std::int8_t>(*weights.integers, weights.depth,
                                                              weights.size, DType::kInt8);
  Tensor zeros = has_zeros
                     ? weights.unpacked<std::uint8_t>(*weights.zero_points, weights.blocks(),
                                                      weights.blocks(), DType::kUint8)
                     : Tensor();
  std::vector<ValueId> operands{parts.constant("weight_quantized", std::move(integers)),
                                parts.constant("weight_scale", weights.block_scales())};
  if (has_zeros) {
    operands.push_back(parts.constant("weight_zero_point", std::move(zeros)));
  }
  return parts.add("weight", "DequantizeLinear", std::move(operands),
                   {{"axis", std::int64_t{0}}, {"block_size", weights.size}});
}

const Tensor& required_constant(const NodeParts& parts, std::size_t operand) {
  const Tensor* tensor = parts.builder().known(parts.input(operand));
  if (tensor == nullptr) {
    throw no_form("operand " + std::to_string(operand) + " that is computed");
  }
  return *tensor;
}

}  // namespace

void expand_bias_add(NodeParts& parts) {
  const ValueId biased = parts.add("biased", "Add", {parts.input(0), parts.input(1)});
  parts.finish("Add", {biased, parts.input(2)});
}

void expand_bias_split_gelu(NodeParts& parts) {
  const ValueId biased = parts.add("biased", "Add", {parts.input(0), parts.input(1)});
  const auto axis = static_cast<std::int64_t>(parts.rank(biased)) - 1;
  const std::int64_t width = parts.shape(biased).back();
  const ValueId left = parts.slice("left", biased, axis, 0, width / 2);
  const ValueId right = parts.slice("right", biased, axis, width / 2, width);
  parts.finish("Mul", {left, parts.add("gate", "Gelu", {right})});
}

void expand_group_norm(NodeParts& parts) {
  finish_group_norm(parts, parts.input(0), parts.input(1), parts.input(2));
}

void expand_skip_group_norm(NodeParts& parts) {
  ValueId skip = parts.input(3);
  if (parts.rank(skip) == 2) {  // one for each channel of a sample
    skip = parts.unsqueeze("skip_of_pixels", skip, {1, 2});
  }
  ValueId sum = parts.add("skipped", "Add", {parts.input(0), skip});
  if (parts.has(4)) {
    sum = parts.add("biased", "Add", {sum, parts.input(4)});
  }
  parts.result(1, sum);
  finish_group_norm(parts, sum, parts.input(1), parts.input(2));
}

void expand_trilu(NodeParts& parts) {
  std::vector<ValueId> operands{parts.input(0)};
  if (parts.has(1)) {
    operands.push_back(parts.input(1));
  }
  parts.finish("Trilu", std::move(operands), parts.attributes());
}

void expand_mat_mul_n_bits(NodeParts& parts) {
  constexpr std::size_t kZeroPoints = 3;
  constexpr std::size_t kOrder = 4;
  constexpr std::size_t kBias = 5;
  const Attributes& attributes = parts.attributes();
  BlockWeights weights{.depth = attributes.integer("K"),
                       .columns = attributes.integer("N"),
                       .bits = attributes.integer("bits", 4),
                       .size = attributes.integer("block_size")};
  if (parts.has(kOrder)) {
    throw no_form("operand 'g_idx'");
  }
  if (weights.bits != 2 && weights.bits != 4 && weights.bits != 8) {
    throw no_form("'bits' of " + std::to_string(weights.bits));
  }
  if (weights.depth < 1 || weights.columns < 1 || weights.size < 1 ||
      !is_addressable({weights.depth, weights.columns})) {
    throw Error(ErrorCode::kInvalidModel, "", "has weights of no extent");
  }
  weights.integers = &required_constant(parts, 1);
  weights.scales = required_constant(parts, 2).to_float();
  const std::int64_t blocks = weights.columns * weights.blocks();
  if (parts.has(kZeroPoints)) {
    weights.zero_points = &required_constant(parts, kZeroPoints);
    const bool is_packed = weights.zero_points->dtype() == DType::kUint8;
    if (weights.zero_points->size() !=
        (is_packed ? weights.columns * weights.row_bytes(weights.blocks()) : blocks)) {
      throw Error(ErrorCode::kInvalidModel, "",
                  "zero points are " + to_string(weights.zero_points->shape()));
    }
  }
  if (weights.integers->dtype() != DType::kUint8 ||
      weights.integers->size() != blocks * weights.row_bytes(weights.size) ||
      static_cast<std::int64_t>(weights.scales.size()) != blocks) {
    throw Error(ErrorCode::kInvalidModel, "",
                "weights are " + to_string(weights.integers->shape()) + " with " +
                    std::to_string(weights.scales.size()) + " scales");
  }
  const bool has_real_zeros =
      weights.zero_points != nullptr && weights.zero_points->dtype() != DType::kUint8;
  ValueId weight =
      has_real_zeros ? parts.constant("weight", weights.reals()) : dequantized(parts, weights);
  if (const DType dtype = parts.dtype(parts.input(0)); dtype != DType::kFloat32) {
    weight = parts.add("weight_cast", "CastLike", {weight, parts.number("like", dtype, 0)});
  }
  if (!parts.has(kBias)) {
    parts.finish("MatMul", {parts.input(0), weight});
    return;
  }
  const ValueId product = parts.add("product", "MatMul", {parts.input(0), weight});
  parts.finish("Add", {product, parts.input(kBias)});
}

}  // namespace tare
