// The form with an operator for each quantized operator: QLinear operators and QGemm of ONNX
// and of ONNX Runtime.

#include "lower/forms/forms.h"
#include "lower/forms/storage_form.h"

#include <algorithm>
#include <array>

namespace tare {
namespace {

/// Operators with parameters of their own for each operand and for the result.
struct QLinearOp {
  std::string_view op;
  std::string_view form;
  bool result_first = false;  ///< where the parameters of the result stand among the operands
};

constexpr std::array kQLinearOps{
    QLinearOp{"Add", "QLinearAdd"},
    QLinearOp{"AveragePool", "QLinearAveragePool"},
    QLinearOp{"Concat", "QLinearConcat", true},
    QLinearOp{"GlobalAveragePool", "QLinearGlobalAveragePool"},
    QLinearOp{"LeakyRelu", "QLinearLeakyRelu"},
    QLinearOp{"Mul", "QLinearMul"},
    QLinearOp{"Sigmoid", "QLinearSigmoid"},
    QLinearOp{"Softmax", "QLinearSoftmax"},
};

/// ONNX Runtime has products of these pairs of storage types only.
bool multiplies(DType x, DType w) {
  return x == DType::kUint8 || w == DType::kInt8;
}

class QOperatorBuilder final : public StorageFormBuilder {
 public:
  using StorageFormBuilder::StorageFormBuilder;

 private:
  bool on_storage(const Node& node) override {
    if (const auto product = product_of(from(), node)) {
      return multiplies(product->x.dtype, product->w.dtype) && multiply(*product);
    }
    return move(node) || q_linear(node);
  }

  bool multiply(const ProductNode& product) {
    const ValueId sum = product.node.outputs[0];
    const auto& users = from().users(sum);
    if (from().single_use(sum) && from().node(users[0]).op == "Requantize") {
      const ValueId result = from().node(users[0]).outputs[0];
      if (from().type(result).dtype == product.x.dtype && !is_part_of_storage(params(result))) {
        multiply_to_storage(product, result);
        return true;
      }
    }
    return multiply_to_real(product);
  }

  void multiply_to_storage(const ProductNode& product, ValueId result) {
    std::vector<ValueId> operands;
    append(operands, product.node.inputs[0]);
    append(operands, product.node.inputs[1]);
    const TensorType& type = from().type(result);
    const auto [scale, zero_point] = parameters(result);
    const ValueId bias = product.bias ? storage(product.bias) : ValueId{};
    if (product.node.op == "Gemm") {
      operands.insert(operands.end(), {bias, scale, zero_point});
    } else {
      operands.insert(operands.end(), {scale, zero_point});
      if (bias) {
        operands.push_back(bias);
      }
    }
    const std::string form = product.node.op == "Conv"   ? "QLinearConv"
                             : product.node.op == "Gemm" ? "QGemm"
                                                         : "QLinearMatMul";
    set_storage(result, add_as(product.node, form, std::move(operands), plain(type, type.dtype),
                               from().name(result)));
  }

  bool multiply_to_real(const ProductNode& product) {
    const ValueId sum = product.node.outputs[0];
    const auto [x_scale, x_zero] = parameters(product.node.inputs[0]);
    const auto [w_scale, w_zero] = parameters(product.node.inputs[1]);
    const ValueId x = storage(product.node.inputs[0]);
    const ValueId w = storage(product.node.inputs[1]);
    std::string form;
    std::vector<ValueId> operands;
    if (product.node.op == "Gemm") {
      form = "QGemm";
      operands = {x, x_scale, x_zero, w, w_scale, w_zero};
      if (product.bias) {
        operands.push_back(storage(product.bias));
      }
    } else if (product.node.op == "MatMul") {
      form = "MatMulIntegerToFloat";
      operands = {x, w, x_scale, w_scale, x_zero, w_zero};
    } else {
      return false;
    }
    set_expressed(sum, add_as(product.node, form, std::move(operands),
                              plain(from().type(sum), DType::kFloat32), original(sum)));
    return true;
  }

  bool q_linear(const Node& node) {
    const auto* row =
        std::find_if(kQLinearOps.begin(), kQLinearOps.end(),
                     [&](const QLinearOp& candidate) { return candidate.op == node.op; });
    if (row == kQLinearOps.end() || !fits(node)) {
      return false;
    }
    const ValueId result = node.outputs[0];
    const TensorType& type = from().type(result);
    const auto [scale, zero_point] = parameters(result);
    std::vector<ValueId> operands;
    for (const ValueId input : node.inputs) {
      append(operands, input);
    }
    operands.insert(row->result_first ? operands.begin() : operands.end(), {scale, zero_point});
    set_storage(result, add_as(node, std::string(row->form), std::move(operands),
                               plain(type, type.dtype), from().name(result)));
    return true;
  }

  bool fits(const Node& node) const {
    const TensorType& result = from().type(node.outputs[0]);
    const auto alike = [&](ValueId value) {
      const TensorType& type = from().type(value);
      return is_byte(type) && !type.quant->per_axis() && type.dtype == result.dtype;
    };
    return alike(node.outputs[0]) && !is_part_of_storage(*result.quant) &&
           std::all_of(node.inputs.begin(), node.inputs.end(), alike) &&
           !node.attributes.has("dilations");
  }

  /// Values, scale and zero point.
  void append(std::vector<ValueId>& operands, ValueId value) {
    const auto [scale, zero_point] = parameters(value);
    operands.insert(operands.end(), {storage(value), scale, zero_point});
  }

  ValueId add_as(const Node& node, const std::string& op, std::vector<ValueId> operands,
                 const TensorType& type, const std::string& name) {
    Attributes attributes = plain(node.attributes);
    if (op == "QLinearSoftmax") {
      constexpr std::int64_t kOneAxis = 13;  // the opset from which Softmax is along one axis
      attributes.set("axis", attributes.integer("axis", -1));
      attributes.set("opset", kOneAxis);
    }
    const NodeId id = to().add_node(to().unique_name(node.name), op, std::move(operands),
                                    {{to().unique_name(name), type}}, std::move(attributes));
    return to().node(id).outputs[0];
  }
};

}  // namespace

Graph to_qoperator(const Graph& integer) {
  return QOperatorBuilder(integer).build();
}

}  // namespace tare
