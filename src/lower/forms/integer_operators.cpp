// The form without operators for quantization: conversions are spelled with arithmetic, and
// products are ConvInteger and MatMulInteger.
#include "tare/error.h"

#include "graph/arithmetic/onnx_number.h"
#include "graph/ir/derived_names.h"
#include "lower/forms/forms.h"
#include "lower/forms/storage_form.h"

#include <array>

namespace tare {
namespace {

/// From i8 to u8 with the same distance to the zero point.
constexpr std::int32_t kShift = 128;

class IntegerOperatorBuilder final : public StorageFormBuilder {
 public:
  using StorageFormBuilder::StorageFormBuilder;

 private:
  struct Factor {
    ValueId values;
    DType dtype;
    std::int32_t zero_point;
  };

  bool on_storage(const Node& node) override {
    if (node.op == "Requantize") {
      return requantize(node);
    }
    if (runs_elementwise(node)) {
      (node.op == "Add" ? add_values(node) : multiply_values(node));
      return true;
    }
    const auto product = product_of(from(), node);
    if (!product) {
      return move(node);
    }
    if (product->bias && from().constant(product->bias) == nullptr) {
      return false;
    }
    multiply(*product);
    return true;
  }

  std::optional<ProductNode> product_behind(ValueId sum) const {
    const auto producer = from().producer(sum);
    return producer ? product_of(from(), from().node(*producer)) : std::nullopt;
  }

  /// The scale of a sum, computed from those of both factors.
  ValueId product_of_scales(const ProductNode& product) {
    const TensorType& sum = from().type(product.node.outputs[0]);
    return multiplied(scale(product.x, sum), scale_along(product.w, sum));
  }

  /// One factor from sum to result, so that rounding meets the number that it meets in the
  /// integer graph.
  bool requantize(const Node& node) {
    const auto product = product_behind(node.inputs[0]);
    if (!product || !has_storage(node.inputs[0])) {
      return false;
    }
    const TensorType& type = from().type(node.outputs[0]);
    const std::string name = original(node.outputs[0]);
    const ValueId sum = cast(storage(node.inputs[0]), type, DType::kFloat32, name + "_sum");
    const ValueId steps =
        on_reals("Mul", {sum, divided(product_of_scales(*product), scale(type, type))}, type,
                 name + "_steps");
    const ValueId rounded = on_reals("Round", {steps}, type, name + "_rounded");
    const ValueId shifted =
        on_reals("Add", {rounded, zero_point(type)}, type, name + "_shifted");
    set_storage(node.outputs[0], clipped(shifted, type, from().name(node.outputs[0]), name));
    return true;
  }

  /// Two values of one type and shape, as the integer kernels of Add and Mul take them.
  bool runs_elementwise(const Node& node) const {
    if (node.op != "Add" && node.op != "Mul") {
      return false;
    }
    const TensorType& result = from().type(node.outputs[0]);
    const auto alike = [&](const TensorType& type) {
      return is_byte(type) && !type.quant->per_axis() && type.dtype == result.dtype &&
             type.shape == result.shape;
    };
    return alike(result) && alike(from().type(node.inputs[0])) &&
           alike(from().type(node.inputs[1]));
  }

  /// The zero point is added before rounding, as engines do it.
  void multiply_values(const Node& node) {
    const TensorType& a = from().type(node.inputs[0]);
    const TensorType& b = from().type(node.inputs[1]);
    const TensorType& type = from().type(node.outputs[0]);
    const std::string name = original(node.outputs[0]);
    const ValueId product =
        on_reals("Mul", {centred(node.inputs[0], a), centred(node.inputs[1], b)}, type,
                 name + "_product");
    const ValueId factor =
        divided(multiplied(scale(a, type), scale(b, type)), scale(type, type));
    const ValueId steps = on_reals("Mul", {product, factor}, type, name + "_steps");
    const ValueId shifted = on_reals("Add", {steps, zero_point(type)}, type, name + "_shifted");
    const ValueId rounded = on_reals("Round", {shifted}, type, name + "_rounded");
    set_storage(node.outputs[0], clipped(rounded, type, from().name(node.outputs[0]), name));
  }

  /// u * ratio + (v * ratio + constant), rounded to float once after each addition as fused
  /// multiply-add does it: on a coarse grid many sums lie halfway, and the last bit decides.
  /// Products of a byte and a float are exact in f64.
  void add_values(const Node& node) {
    const TensorType& type = from().type(node.outputs[0]);
    const std::string name = original(node.outputs[0]);
    const ValueId result_scale = scale(type, type);
    std::array<ValueId, 2> ratios;
    std::array<ValueId, 2> offsets;
    for (std::size_t i = 0; i < 2; ++i) {
      const TensorType& operand = from().type(node.inputs[i]);
      ratios[i] = divided(scale(operand, type), result_scale);
      offsets[i] = multiplied(ratios[i], zero_point(operand));
    }
    ValueId sum =
        constant_node("Sub", zero_point(type), constant_node("Add", offsets[0], offsets[1]));
    for (const std::size_t i : {1U, 0U}) {
      const ValueId wide = cast(storage(node.inputs[i]), type, DType::kFloat64, name + "_wide");
      const ValueId scaled = add("Mul", {wide, widened(ratios[i])},
                                 plain(type, DType::kFloat64), name + "_scaled");
      const ValueId fused =
          add("Add", {scaled, widened(sum)}, plain(type, DType::kFloat64), name + "_fused");
      sum = cast(fused, type, DType::kFloat32, name + "_sum");
    }
    const ValueId rounded = on_reals("Round", {sum}, type, name + "_rounded");
    set_storage(node.outputs[0], clipped(rounded, type, from().name(node.outputs[0]), name));
  }

  ValueId quantized(ValueId expressed, const TensorType& type, const std::string& name,
                    const std::string& original, bool /*may_leave*/) override {
    const ValueId steps =
        on_reals("Div", {expressed, scale_along(type, type)}, type, original + "_steps");
    const ValueId rounded = on_reals("Round", {steps}, type, original + "_rounded");
    const ValueId shifted =
        on_reals("Add", {rounded, zero_point(type)}, type, original + "_shifted");
    return clipped(shifted, type, name, original);
  }

  ValueId clipped(ValueId steps, const TensorType& type, const std::string& name,
                  const std::string& original) {
    const StorageRange range = type.quant->range();
    const ValueId clipped =
        on_reals("Clip", {steps, number("low", range.low), number("high", range.high)}, type,
                 original + "_clipped");
    return cast(clipped, type, type.quant->storage, name);
  }

  ValueId dequantized(ValueId value, const TensorType& type) override {
    const std::string name = original(value);
    if (const auto product = product_behind(value)) {
      const ValueId sum = cast(storage(value), type, DType::kFloat32, name + "_cast");
      return on_reals("Mul", {sum, product_of_scales(*product)}, type, dequantized_name(name));
    }
    return on_reals("Mul", {centred(value, type), scale_along(type, type)}, type,
                    dequantized_name(name));
  }

  /// Storage values less their zero point.
  ValueId centred(ValueId value, const TensorType& type) {
    const std::string name = original(value);
    const ValueId number = cast(storage(value), type, DType::kFloat32, name + "_cast");
    return on_reals("Sub", {number, zero_point(type)}, type, name + "_centred");
  }

  void multiply(const ProductNode& product) {
    const Node& node = product.node;
    const ValueId result = node.outputs[0];
    const TensorType type = plain(from().type(result), DType::kInt32);
    Factor x = factor(node.inputs[0]);
    Factor w = factor(node.inputs[1]);
    // ONNX Runtime convolves u8 with u8, and multiplies all but i8 with u8.
    const bool convolves = node.op == "Conv";
    if (x.dtype == DType::kInt8 && (convolves || w.dtype == DType::kUint8)) {
      x = unsigned_form(node.inputs[0], x);
    }
    if (w.dtype == DType::kInt8 && convolves) {
      w = unsigned_form(node.inputs[1], w);
    }
    const NodeId id = to().add_node(
        to().unique_name(node.name), convolves ? "ConvInteger" : "MatMulInteger",
        {x.values, w.values, zero_point(x), zero_point(w)},
        {{to().unique_name(product.bias ? original(result) + "_product" : from().name(result)),
          type}},
        convolves ? plain(node.attributes) : Attributes{});
    ValueId sum = to().node(id).outputs[0];
    if (product.bias) {
      Tensor bias = *from().constant(product.bias);
      if (convolves) {
        Shape shape(type.shape.size() - 1, 1);
        shape[0] = bias.size();
        bias = Tensor::of<std::int32_t>(shape, bias.view<std::int32_t>());
      }
      sum = add("Add", {sum, shared_constant(from().name(product.bias), bias)}, type,
                from().name(result));
    }
    set_storage(result, sum);
  }

  Factor factor(ValueId value) {
    const QuantParams& params = this->params(value);
    return {storage(value), params.storage, params.zero_point[0]};
  }

  Factor unsigned_form(ValueId value, const Factor& factor) {
    const TensorType& type = from().type(value);
    ValueId& shifted = unsigned_[value];
    if (!shifted) {
      const std::string name = original(value);
      const ValueId wide = cast(factor.values, type, DType::kInt32, name + "_wide");
      const ValueId sum = add("Add", {wide, shared_constant("shift", Tensor::scalar(kShift))},
                              plain(type, DType::kInt32), name + "_shifted");
      shifted = cast(sum, type, DType::kUint8, name + "_unsigned");
    }
    return {shifted, DType::kUint8, factor.zero_point + kShift};
  }

  ValueId cast(ValueId value, const TensorType& like, DType dtype, const std::string& name) {
    return add("Cast", {value}, plain(like, dtype), name, {{"to", onnx_number(dtype)}});
  }

  ValueId on_reals(const std::string& op, std::vector<ValueId> operands, const TensorType& like,
                   const std::string& name) {
    return add(op, std::move(operands), plain(like, DType::kFloat32), name);
  }

  /// A node between constants, of which one is a single number: engines compute it once, and
  /// readers find both.
  ValueId constant_node(const std::string& op, ValueId a, ValueId b) {
    const TensorType& longer = to().type(a).shape.empty() ? to().type(b) : to().type(a);
    return on_reals(op, {a, b}, longer, "factor");
  }
  ValueId multiplied(ValueId a, ValueId b) { return constant_node("Mul", a, b); }
  ValueId divided(ValueId a, ValueId b) { return constant_node("Div", a, b); }
  ValueId widened(ValueId value) {
    return cast(value, to().type(value), DType::kFloat64, "wide");
  }

  ValueId number(const std::string& name, std::int64_t value) {
    return shared_constant(name, Tensor::scalar(static_cast<float>(value)));
  }

  ValueId zero_point(const Factor& factor) {
    QuantParams unit;
    unit.storage = factor.dtype;
    const Tensor number = Tensor::scalar(static_cast<float>(factor.zero_point));
    return shared_constant("zero_point", quantize(number, unit));
  }

  ValueId zero_point(const TensorType& type) {
    const auto& zeros = type.quant->zero_point;
    return row("zero_point", {zeros.begin(), zeros.end()}, type.quant->axis, type);
  }
  /// Per tensor.
  ValueId scale(const TensorType& type, const TensorType& like) {
    return row("scale", type.quant->scale.to_vector(), {}, like);
  }
  /// Along the channels of `like`.
  ValueId scale_along(const TensorType& type, const TensorType& like) {
    return row("scale", type.quant->scale.to_vector(), like.quant->axis, like);
  }

  /// One number, or one for each channel of `axis` in a shape that broadcasts.
  ValueId row(const std::string& name, const std::vector<float>& values,
              std::optional<int> axis, const TensorType& like) {
    Shape shape;
    if (axis) {
      shape.assign(like.shape.size() - static_cast<std::size_t>(*axis), 1);
      shape[0] = static_cast<std::int64_t>(values.size());
    }
    return shared_constant(name, Tensor::of<float>(shape, values));
  }

  std::map<ValueId, ValueId> unsigned_;
};

}  // namespace

Graph to_integer_operators(const Graph& integer) {
  Faults faults;
  for (const ValueId value : integer.values()) {
    const auto& params = integer.type(value).quant;
    if (params && params->block != 0) {
      faults.add("value '" + integer.name(value) + "'",
                 "is in blocks of " + std::to_string(params->block) +
                     ", which core operators do not spell",
                 "the form 'qdq' or 'qoperator', or 'weights.block: 0'");
    }
  }
  faults.raise(ErrorCode::kInvalidConfig);
  return IntegerOperatorBuilder(integer).build();
}

}  // namespace tare
