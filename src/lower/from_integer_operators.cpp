// Rules that know conversions and products of storage values in what core operators say.
#include "tare/lower.h"
#include "tare/pattern.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace tare {
namespace {

bool is_storage(DType dtype) {
  return dtype == DType::kInt8 || dtype == DType::kUint8 || dtype == DType::kInt16 ||
         dtype == DType::kUint16 || dtype == DType::kInt32;
}

/// Numbers that are one for all elements, or one for each index of an axis.
struct Row {
  std::vector<float> values;
  std::optional<std::int64_t> axis;
};

/// A float constant as it broadcasts to a value of that rank; nothing when it is no row.
std::optional<Row> row_of(const Graph& graph, ValueId constant, std::size_t rank) {
  const Tensor& tensor = *graph.constant(constant);
  const Shape& shape = tensor.shape();
  if (tensor.dtype() != DType::kFloat32 || shape.size() > rank || tensor.size() == 0) {
    return std::nullopt;
  }
  Row row{tensor.to_float(), {}};
  if (row.values.size() == 1) {
    return row;
  }
  const auto long_axis = std::find(shape.begin(), shape.end(), tensor.size());
  if (long_axis == shape.end()) {
    return std::nullopt;
  }
  row.axis = static_cast<std::int64_t>(rank) - (shape.end() - long_axis);
  return row;
}

Shape shape_of(const std::vector<float>& scale) {
  return scale.size() == 1 ? Shape{} : Shape{static_cast<std::int64_t>(scale.size())};
}

/// Zero points in the storage type, one for each scale; nothing when they are no integers of
/// it.
std::optional<Tensor> zero_points(const Row& zeros, const Row& scales, DType storage) {
  const StorageRange range = storage_range(storage, false);
  const bool fit = std::all_of(zeros.values.begin(), zeros.values.end(), [&](float zero) {
    return std::nearbyint(zero) == zero && zero >= static_cast<float>(range.low) &&
           zero <= static_cast<float>(range.high);
  });
  const bool alike = zeros.values.size() == scales.values.size() && zeros.axis == scales.axis;
  if (!fit || (zeros.values.size() != 1 && !alike)) {
    return std::nullopt;
  }
  std::vector<float> all = zeros.values;
  all.resize(scales.values.size(), zeros.values[0]);
  QuantParams unit;
  unit.storage = storage;
  return quantize(Tensor::of<float>(shape_of(scales.values), all), unit);
}

Attributes axis_of(const Row& scales) {
  return scales.axis ? Attributes{{"axis", *scales.axis}} : Attributes{};
}

/// QuantizeLinear or DequantizeLinear in the place of the match.
std::variant<Patch, Refusal> convert(const Graph& graph, const Match& match, const char* op,
                                     DType storage) {
  const Node& root = graph.node(match.root());
  const std::size_t rank = graph.type(root.outputs[0]).shape.size();
  const auto scales = row_of(graph, match.value("scale"), rank);
  const auto zeros = row_of(graph, match.value("zero"), rank);
  const auto stored = scales && zeros ? zero_points(*zeros, *scales, storage) : std::nullopt;
  if (!stored) {
    return Refusal{"scale and zero point are none of a storage type"};
  }
  Patch patch(graph);
  const std::string& name = graph.name(root.outputs[0]);
  const ValueId scale = patch.add_constant(
      name + "_scale", Tensor::of<float>(shape_of(scales->values), scales->values));
  patch.replace_node(
      root, op, {match.value("x"), scale, patch.add_constant(name + "_zero_point", *stored)},
      axis_of(*scales));
  return patch;
}

std::variant<Patch, Refusal> quantize_linear(const Graph& graph, const Match& match) {
  const DType storage = graph.type(graph.node(match.root()).outputs[0]).dtype;
  if (!is_storage(storage) || storage == DType::kInt32 ||
      graph.type(match.value("x")).dtype != DType::kFloat32) {
    return Refusal{"casts from or to another type"};
  }
  const StorageRange range = storage_range(storage, false);
  const auto is_bound = [&](const char* name, std::int64_t bound) {
    return graph.constant(match.value(name))->to_double() ==
           std::vector<double>{static_cast<double>(bound)};
  };
  if (!is_bound("low", range.low) || !is_bound("high", range.high)) {
    return Refusal{"clips within the storage type"};
  }
  return convert(graph, match, "QuantizeLinear", storage);
}

std::variant<Patch, Refusal> dequantize_linear(const Graph& graph, const Match& match) {
  const DType storage = graph.type(match.value("x")).dtype;
  if (!is_storage(storage) ||
      graph.type(graph.node(match.root()).outputs[0]).dtype != DType::kFloat32) {
    return Refusal{"casts from or to another type"};
  }
  return convert(graph, match, "DequantizeLinear", storage);
}

/// 8-bit storage values and their zero points.
struct Factor {
  ValueId values;
  std::vector<float> zero_points;
};

/// Operand i of a ConvInteger or MatMulInteger.
std::optional<Factor> factor(const Graph& graph, const Node& product, std::size_t i) {
  constexpr std::int32_t kShift = 128;
  Factor factor{product.inputs[i], {0}};
  const bool has_zero = product.inputs.size() > i + 2 && product.inputs[i + 2];
  if (has_zero) {
    const Tensor* zero = graph.constant(product.inputs[i + 2]);
    if (zero == nullptr || zero->size() == 0 || zero->shape().size() > 1) {
      return std::nullopt;
    }
    factor.zero_points = zero->to_float();
  }
  // i8 in the guise of u8.
  static const Pattern shifted =
      op("Cast").with(op("Add").with(op("Cast").with(any().as("signed")), scalar(kShift)));
  const auto producer = graph.producer(factor.values);
  const auto match = producer ? shifted.match(graph, *producer) : std::nullopt;
  if (match && graph.type(factor.values).dtype == DType::kUint8 &&
      graph.type(match->value("signed")).dtype == DType::kInt8) {
    factor.values = match->value("signed");
    for (float& zero : factor.zero_points) {
      zero -= kShift;
    }
  }
  return factor;
}

class ProductReader {
 public:
  ProductReader(const Graph& graph, const Match& match)
      : graph_(graph),
        match_(match),
        product_(graph.node(match.node("product"))),
        root_(graph.node(match.root()).outputs[0]),
        rank_(graph.type(root_).shape.size()),
        convolves_(product_.op == "ConvInteger"),
        patch_(graph) {}

  std::variant<Patch, Refusal> read() {
    const auto x = factor(graph_, product_, 0);
    const auto w = factor(graph_, product_, 1);
    const auto x_scale = row_of(graph_, match_.value("x_scale"), rank_);
    auto w_scale = row_of(graph_, match_.value("w_scale"), rank_);
    if (rank_ < 2 || !x || !w || !x_scale || x_scale->axis || !w_scale ||
        !lies_along_channels(*w_scale)) {
      return Refusal{"scales and zero points are none of the factors"};
    }
    std::vector<ValueId> operands{dequantized(*x, *x_scale)};
    const auto weight_rank = static_cast<std::int64_t>(graph_.type(w->values).shape.size());
    if (!w_scale->axis) {
      w_scale->values.resize(w->zero_points.size(), w_scale->values[0]);
    }
    if (w_scale->values.size() > 1) {
      w_scale->axis = convolves_ ? 0 : weight_rank - 1;
    }
    operands.push_back(dequantized(*w, *w_scale));
    if (!operands[0] || !operands[1]) {
      return Refusal{"zero points are none of the storage type"};
    }
    if (match_.has("bias")) {
      operands.push_back(bias(x_scale->values[0], *w_scale));
      if (!operands[2]) {
        return Refusal{"what is added is no bias"};
      }
    }
    const std::string op = convolves_ ? "Conv" : operands.size() > 2 ? "Gemm" : "MatMul";
    patch_.replace(root_, patch_.add(op, operands, graph_.type(root_), product_.name,
                                     product_.attributes));
    return std::move(patch_);
  }

 private:
  std::int64_t channel_axis() const {
    return convolves_ ? 1 : static_cast<std::int64_t>(rank_) - 1;
  }

  bool lies_along_channels(const Row& row) const {
    return !row.axis || *row.axis == channel_axis();
  }

  ValueId dequantized(const Factor& factor, const Row& scales) {
    const TensorType& type = graph_.type(factor.values);
    const std::optional<std::int64_t> axis =
        factor.zero_points.size() > 1 ? scales.axis : std::nullopt;
    const auto zeros = zero_points({factor.zero_points, axis}, scales, type.dtype);
    return zeros ? dequantized(factor.values, scales, *zeros) : ValueId{};
  }

  ValueId dequantized(ValueId values, const Row& scales, const Tensor& zeros) {
    TensorType real = patch_.type(values);
    const std::string name = product_.name + "_dequantized";
    real.dtype = DType::kFloat32;
    const ValueId scale = patch_.add_constant(
        name + "_scale", Tensor::of<float>(shape_of(scales.values), scales.values));
    return patch_.add("DequantizeLinear",
                      {values, scale, patch_.add_constant(name + "_zero_point", zeros)}, real,
                      name, axis_of(scales));
  }

  /// A row of int32 for the channels, dequantized at the product of both scales.
  ValueId bias(float x_scale, Row scales) {
    const Tensor& tensor = *graph_.constant(match_.value("bias"));
    const Shape& shape = tensor.shape();
    const std::int64_t channels =
        graph_.type(root_).shape.at(static_cast<std::size_t>(channel_axis()));
    const auto place = static_cast<std::int64_t>(rank_) - channel_axis();
    const bool is_row = tensor.dtype() == DType::kInt32 && tensor.size() == channels &&
                        static_cast<std::int64_t>(shape.size()) >= place &&
                        shape[shape.size() - static_cast<std::size_t>(place)] == channels;
    if (!is_row || (!convolves_ && rank_ != 2)) {
      return {};
    }
    for (float& scale : scales.values) {
      scale *= x_scale;
    }
    scales.axis = scales.axis ? std::optional<std::int64_t>(0) : std::nullopt;
    const ValueId row =
        patch_.add_constant(graph_.name(match_.value("bias")),
                            Tensor::of<std::int32_t>({channels}, tensor.view<std::int32_t>()));
    return dequantized(row, scales, Tensor(DType::kInt32, shape_of(scales.values)));
  }

  const Graph& graph_;
  const Match& match_;
  const Node& product_;
  ValueId root_;
  std::size_t rank_;
  bool convolves_;
  Patch patch_;
};

Pattern quantize_pattern() {
  const Pattern rounded =
      op("Round").with(op("Div").with(any().as("x"), constant().as("scale")));
  return op("Cast").with(op("Clip").with(op("Add").with(rounded, constant().as("zero")),
                                         constant().as("low"), constant().as("high")));
}

Pattern dequantize_pattern() {
  return op("Mul").with(op("Sub").with(op("Cast").with(any().as("x")), constant().as("zero")),
                        constant().as("scale"));
}

Pattern product_pattern() {
  const Pattern product = op_of({"ConvInteger", "MatMulInteger"}).as("product");
  const Pattern sum = op("Add").with(product, constant().as("bias")) | product;
  return op("Mul").with(op("Mul").with(op("Cast").with(sum), constant().as("x_scale")),
                        constant().as("w_scale"));
}

}  // namespace

Graph from_integer_operators(Graph graph) {
  const std::array rules{
      RewriteRule{.name = "quantize_linear",
                  .summary = "Div, Round, Add, Clip and Cast to a storage type",
                  .pattern = quantize_pattern,
                  .rewrite = quantize_linear},
      RewriteRule{.name = "dequantize_linear",
                  .summary = "Cast from a storage type, Sub and Mul",
                  .pattern = dequantize_pattern,
                  .rewrite = dequantize_linear},
      RewriteRule{.name = "integer_product",
                  .summary = "ConvInteger or MatMulInteger, and Mul by both scales",
                  .pattern = product_pattern,
                  .rewrite = [](const Graph& g,
                                const Match& match) { return ProductReader(g, match).read(); }},
  };
  return rewrite(std::move(graph), rules);
}

}  // namespace tare
