// Operators on storage values, ONNX's and ONNX Runtime's, as DequantizeLinear, the operator on
// real values, and QuantizeLinear. That is what they are defined by, up to rounding, and
// lowering finds integers in it again. One table says where each has its parameters.
#include "onnx/normalize/quantized.h"

#include "tare/error.h"
#include "tare/graph.h"

#include "graph/ir/derived_names.h"
#include "onnx/constants.h"
#include "onnx/domains.h"
#include "onnx/normalize/rules.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace tare {
namespace {

constexpr std::size_t kNone = 99;

/// Where storage values and their parameters stand among the operands.
struct Positions {
  std::size_t values = kNone;
  std::size_t scale = kNone;
  std::size_t zero_point = kNone;
};

struct QuantizedOp {
  std::string_view domain;
  std::string_view op;
  std::string_view real;  ///< the same between real values
  std::array<Positions, 2> data;
  std::size_t bias = kNone;  ///< int32 at the product of both scales, or real
  Positions result = {};     ///< without a scale the result is real
  bool may_stay_real = false;
};

constexpr std::array<Positions, 2> kOne{Positions{0, 1, 2}, Positions{}};
constexpr std::array<Positions, 2> kTwo{Positions{0, 1, 2}, Positions{3, 4, 5}};
constexpr std::array<Positions, 2> kBothValuesFirst{Positions{0, 2, 4}, Positions{1, 3, 5}};
constexpr Positions kAfterOne{kNone, 3, 4};
constexpr Positions kAfterTwo{kNone, 6, 7};
constexpr Positions kAfterBias{kNone, 7, 8};

constexpr std::array kQuantizedOps{
    QuantizedOp{"", "QLinearConv", "Conv", kTwo, 8, kAfterTwo},
    QuantizedOp{"", "QLinearMatMul", "MatMul", kTwo, kNone, kAfterTwo},
    QuantizedOp{kRuntimeDomain, "MatMulIntegerToFloat", "MatMul", kBothValuesFirst, 6},
    QuantizedOp{kRuntimeDomain, "QGemm", "Gemm", kTwo, 6, kAfterBias, true},
    QuantizedOp{kRuntimeDomain, "QLinearAdd", "Add", kTwo, kNone, kAfterTwo},
    QuantizedOp{kRuntimeDomain, "QLinearAveragePool", "AveragePool", kOne, kNone, kAfterOne},
    QuantizedOp{kRuntimeDomain, "QLinearGlobalAveragePool", "GlobalAveragePool", kOne, kNone,
                kAfterOne},
    QuantizedOp{kRuntimeDomain, "QLinearLeakyRelu", "LeakyRelu", kOne, kNone, kAfterOne},
    QuantizedOp{kRuntimeDomain, "QLinearMul", "Mul", kTwo, kNone, kAfterTwo},
    QuantizedOp{kRuntimeDomain, "QLinearSigmoid", "Sigmoid", kOne, kNone, kAfterOne},
    QuantizedOp{kRuntimeDomain, "QLinearSoftmax", "Softmax", kOne, kNone, kAfterOne},
};

constexpr std::string_view kConcat = "QLinearConcat";

/// In ONNX Runtime's domain they take 16 bits before opset 21, and are the same otherwise.
bool is_conversion(std::string_view op) {
  return op == "QuantizeLinear" || op == "DequantizeLinear";
}

const QuantizedOp* find(std::string_view op) {
  const auto* found = std::find_if(kQuantizedOps.begin(), kQuantizedOps.end(),
                                   [&](const QuantizedOp& row) { return row.op == op; });
  return found == kQuantizedOps.end() ? nullptr : found;
}

class Expansion {
 public:
  Expansion(Draft& draft, GraphBuilder& builder) : draft_(draft), builder_(builder) {}

  void run(const QuantizedOp& row) {
    Draft real{draft_.name, std::string(row.real), {}, {}, draft_.attributes};
    for (const Positions& operand : row.data) {
      if (operand.values != kNone) {
        real.inputs.push_back(expressed(operand, axis_of_channels(row, operand)));
      }
    }
    if (draft_.has_input(row.bias)) {
      real.inputs.push_back(expressed_bias(row));
    }
    const bool stays_real = row.may_stay_real && !draft_.has_input(row.result.scale);
    finish(std::move(real), stays_real ? Positions{} : row.result);
  }

  /// Parameters of the result, then each operand with its own.
  void concatenate() {
    Draft real{draft_.name, "Concat", {}, {}, draft_.attributes};
    for (std::size_t i = 2; i < draft_.inputs.size(); i += 3) {
      real.inputs.push_back(expressed({i, i + 1, i + 2}, 0));
    }
    finish(std::move(real), {kNone, 0, 1});
  }

 private:
  ValueId required(std::size_t i) const {
    if (!draft_.has_input(i)) {
      throw Error(ErrorCode::kInvalidModel, "", "operand " + std::to_string(i) + " is missing");
    }
    return draft_.inputs[i];
  }

  ValueId optional(std::size_t i) const {
    return draft_.has_input(i) ? draft_.inputs[i] : ValueId{};
  }

  /// Along which several scales lie: the results of a convolution, the rows of the first matrix
  /// or the columns of the second.
  std::int64_t axis_of_channels(const QuantizedOp& row, const Positions& operand) const {
    const bool is_second = operand.values != row.data[0].values;
    if (row.real == "Conv") {
      return is_second ? 0 : 1;
    }
    const bool is_turned = draft_.attributes.integer(is_second ? "transB" : "transA", 0) != 0;
    return is_second == is_turned ? -2 : -1;
  }

  static Error unsupported_scales(const Shape& shape) {
    return {ErrorCode::kUnsupported, "", "scales of shape " + to_string(shape)};
  }

  ValueId expressed(const Positions& at, std::int64_t axis) {
    const ValueId values = required(at.values);
    return dequantize(values, required(at.scale), optional(at.zero_point), axis);
  }

  ValueId dequantize(ValueId values, ValueId scale, ValueId zero_point, std::int64_t axis) {
    const Shape& shape = builder_.shape(scale);
    if (shape.size() > 1) {
      throw unsupported_scales(shape);
    }
    const bool is_row = element_count(shape) != 1;
    return builder_.emit_helper(draft_.name + "_dequantized", "DequantizeLinear",
                                {values, scale, zero_point},
                                is_row ? Attributes{{"axis", axis}} : Attributes{});
  }

  ValueId expressed_bias(const QuantizedOp& row) {
    const ValueId bias = draft_.inputs[row.bias];
    if (builder_.type(bias).dtype != DType::kInt32) {
      return bias;
    }
    ValueId scale = product(required(row.data[0].scale), required(row.data[1].scale));
    const float alpha = draft_.attributes.real("alpha", 1);
    if (alpha != 1) {
      scale =
          product(builder_.add_constant(draft_.name + "_alpha", Tensor::scalar(alpha)), scale);
    }
    return dequantize(bias, scale, {}, -1);
  }

  /// Of one scale and one or more; a constant when both are.
  ValueId product(ValueId one, ValueId scales) {
    const std::string name = draft_.name + "_bias_scale";
    const Tensor* factor = builder_.graph().constant(one);
    const Tensor* known = builder_.graph().constant(scales);
    const bool is_known = factor != nullptr && known != nullptr && factor->size() == 1 &&
                          factor->dtype() == DType::kFloat32 &&
                          known->dtype() == DType::kFloat32;
    if (!is_known) {
      return builder_.emit_helper(name, "Mul", {one, scales});
    }
    Tensor result = *known;
    for (float& scale : result.mutable_view<float>()) {
      scale *= factor->view<float>()[0];
    }
    return builder_.add_constant(name, std::move(result));
  }

  /// Leaves the last node of what stands in for the draft as the draft.
  void finish(Draft real, const Positions& result) {
    if (draft_.attributes.has("channels_last")) {
      expect_and_drop(real, "channels_last", 0);
    }
    const bool stays_real = result.scale == kNone;
    real.outputs = stays_real
                       ? draft_.outputs
                       : std::vector{builder_.fresh_name(original_name(draft_.outputs.at(0)))};
    if (real.op == "Softmax") {
      constexpr std::int64_t kOneAxis = 13;
      const bool flattens = real.attributes.integer("opset", kOneAxis) < kOneAxis;
      real.attributes.erase("opset");
      if (flattens) {
        flatten_softmax(real, builder_);
      }
    }
    if (real.op == "MatMul" && real.inputs.size() > 2) {
      const ValueId bias = real.inputs.back();
      real.inputs.pop_back();
      const std::string name = builder_.fresh_name(draft_.name + "_biased");
      const ValueId sum =
          builder_.emit_helper(draft_.name + "_product", "MatMul", std::move(real.inputs));
      real = {name, "Add", {sum, bias}, std::move(real.outputs), {}};
    }
    if (stays_real) {
      draft_ = std::move(real);
      return;
    }
    const ValueId scale = required(result.scale);
    if (element_count(builder_.shape(scale)) != 1) {
      throw unsupported_scales(builder_.shape(scale));
    }
    ValueId zero_point = optional(result.zero_point);
    if (!zero_point) {
      const ValueId values = required(result.scale == 0 ? 2 : 0);
      const Tensor zero(builder_.type(values).dtype, builder_.shape(scale));
      zero_point = builder_.add_constant(draft_.name + "_zero_point", zero);
    }
    const ValueId value = builder_.emit(std::move(real)).front();
    draft_.name = builder_.fresh_name(draft_.name + "_quantized");
    draft_.op = "QuantizeLinear";
    draft_.inputs = {value, scale, zero_point};
    draft_.attributes = {};
  }

  Draft& draft_;
  GraphBuilder& builder_;
};

}  // namespace

bool is_quantized_operator(std::string_view domain, std::string_view op) {
  const QuantizedOp* row = find(op);
  return row != nullptr ? row->domain == domain
                        : domain == kRuntimeDomain && (op == kConcat || is_conversion(op));
}

void normalize_quantized(Draft& draft, GraphBuilder& builder) {
  if (const QuantizedOp* row = find(draft.op)) {
    Expansion(draft, builder).run(*row);
  } else if (draft.op == kConcat) {
    Expansion(draft, builder).concatenate();
  }
}

std::string_view domain_of(std::string_view op) {
  const bool is_runtimes = op == kDynamicQuantizeLstm || op == kMatMulNBits ||
                           (!is_conversion(op) && is_quantized_operator(kRuntimeDomain, op));
  return is_runtimes ? kRuntimeDomain : std::string_view();
}

}  // namespace tare
