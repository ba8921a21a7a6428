// The form without operators for quantization: conversions are spelled with arithmetic, and
// products are ConvInteger and MatMulInteger.
#include "tare/lower.h"

#include "lower/storage_form.h"

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

  ValueId quantized(ValueId expressed, const TensorType& type,
                    const std::string& name) override {
    const QuantParams& params = *type.quant;
    const TensorType real = plain(type, DType::kFloat32);
    const StorageRange range = params.range();
    const ValueId steps = add("Div", {expressed, row("scale", params.scale, type, params.axis)},
                              real, name + "_steps");
    const ValueId rounded = add("Round", {steps}, real, name + "_rounded");
    const ValueId shifted = add("Add", {rounded, zero_point(type)}, real, name + "_shifted");
    const ValueId clipped =
        add("Clip", {shifted, number("low", range.low), number("high", range.high)}, real,
            name + "_clipped");
    return cast(clipped, type, params.storage, name);
  }

  ValueId dequantized(ValueId value) override {
    const TensorType& type = from().type(value);
    const std::string& name = from().name(value);
    const TensorType real = plain(type, DType::kFloat32);
    const ValueId number = cast(storage(value), type, DType::kFloat32, name + "_cast");
    const auto producer = from().producer(value);
    const auto product = producer ? product_of(from(), from().node(*producer)) : std::nullopt;
    if (product) {
      // One after the other, as neither scale could be told from the product of both.
      const ValueId half = add("Mul", {number, row("scale", product->x.quant->scale, type, {})},
                               real, name + "_scaled");
      return add("Mul", {half, row("scale", product->w.quant->scale, type, type.quant->axis)},
                 real, name + "_dequantized");
    }
    const ValueId centred = add("Sub", {number, zero_point(type)}, real, name + "_centred");
    return add("Mul", {centred, row("scale", type.quant->scale, type, type.quant->axis)}, real,
               name + "_dequantized");
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
    const NodeId id =
        to().add_node(to().unique_name(node.name), convolves ? "ConvInteger" : "MatMulInteger",
                      {x.values, w.values, zero_point(x), zero_point(w)},
                      {{to().unique_name(from().name(result)), type}},
                      convolves ? node.attributes : Attributes{});
    ValueId sum = to().node(id).outputs[0];
    if (product.bias) {
      Tensor bias = *from().constant(product.bias);
      if (convolves) {
        Shape shape(type.shape.size() - 1, 1);
        shape[0] = bias.size();
        bias = Tensor::of<std::int32_t>(shape, bias.view<std::int32_t>());
      }
      sum = add("Add", {sum, shared_constant(from().name(product.bias), bias)}, type,
                from().name(result) + "_biased");
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
      const std::string& name = from().name(value);
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

  /// How ONNX numbers the types that occur here.
  static std::int64_t onnx_number(DType dtype) {
    switch (dtype) {
      case DType::kFloat32:
        return 1;
      case DType::kUint8:
        return 2;
      case DType::kInt8:
        return 3;
      case DType::kUint16:
        return 4;
      case DType::kInt16:
        return 5;
      default:
        return 6;
    }
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
    return row("zero_point", {zeros.begin(), zeros.end()}, type, type.quant->axis);
  }

  /// One number, or one for each channel of `axis` in a shape that broadcasts.
  ValueId row(const std::string& name, const std::vector<float>& values, const TensorType& like,
              std::optional<int> axis) {
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
  return IntegerOperatorBuilder(integer).build();
}

}  // namespace tare
