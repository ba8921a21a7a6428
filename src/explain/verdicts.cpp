// Says of each operator of a quantized graph by which integer kernel the target runs it, or why
// by none, from the conversions around it and the target's table of kernels. It looks at the
// written file and not at intentions, so files of other tools get the same answers. Linear in
// the graph.
#include "tare/graph.h"
#include "tare/integer_graph.h"

#include "explain/qdq_view.h"
#include "graph/arithmetic/node_arithmetic.h"
#include "graph/operators/affine_ops.h"
#include "graph/operators/product.h"
#include "graph/operators/shape_facts.h"
#include "graph/text/spelled_in_parts.h"
#include "lower/lower.h"
#include "simulate/target_operator.h"

#include <algorithm>
#include <optional>

namespace tare {
namespace {

// GCC 12 warns without cause of what it makes of "'" + std::string.
std::string in_quotes(const std::string& name) {
  std::string result = "'";
  return result.append(name).append("'");
}

class KernelFinder {
 public:
  KernelFinder(const Graph& graph, const Target& target) : view_(graph), target_(target) {}

  std::vector<Verdict> run() const {
    const Graph& graph = view_.graph();
    std::vector<Verdict> result;
    for (const NodeId id : graph.topological_order()) {
      const Node& node = graph.node(id);
      if (!counts(node)) {
        continue;
      }
      Verdict& verdict = result.emplace_back();
      verdict.node = layer_name(node.name);
      verdict.op = operator_of(node);
      if (is_part(node)) {
        verdict.runs_as = "fused into its neighbour";
        verdict.is_part = true;
        continue;
      }
      const Obstacle found = obstacle(node);
      verdict.because = found.reason;
      verdict.detail = found.detail;
      if (found.reason.empty()) {
        const TargetOperator* row = find_operator(target_, graph, node);
        verdict.runs_as = row != nullptr ? row->runs_as : verdict.op;
      }
    }
    return result;
  }

 private:
  /// Why a node runs on floats; empty when it does not.
  struct Obstacle {
    std::string reason;
    std::string detail{};
  };

  static bool is_real(const Graph& graph, ValueId value) {
    return value && graph.constant(value) == nullptr &&
           graph.type(value).dtype == DType::kFloat32;
  }

  /// That of the file, for a unit of the device.
  static std::string operator_of(const Node& node) {
    return is_unit(node)
               ? node.attributes.text("op_type", node.attributes.text("unit", node.op))
               : node.op;
  }

  static bool is_unit(const Node& node) { return node.op == "Region"; }

  bool counts(const Node& node) const {
    if (is_unit(node)) {
      return true;
    }
    const Graph& graph = view_.graph();
    const auto is_real_here = [&](ValueId value) { return is_real(graph, value); };
    return !view_.is_conversion(node) && node.op != "Cast" && !reads_shape_only(node) &&
           (std::any_of(node.inputs.begin(), node.inputs.end(), is_real_here) ||
            std::any_of(node.outputs.begin(), node.outputs.end(), is_real_here) ||
            acts_on_storage(node) || multiplies_integers(node));
  }

  /// Such a node has no conversions of its own, or none any more.
  bool acts_on_storage(const Node& node) const {
    const Graph& graph = view_.graph();
    return tie_breaking_point(node.attributes).has_value() ||
           (!node.inputs.empty() && node.inputs[0] && graph.type(node.inputs[0]).quant &&
            graph.type(node.outputs[0]).quant);
  }

  /// Of operands that were quantized while the network runs.
  static bool multiplies_integers(const Node& node) {
    return node.op == "MatMulInteger" || node.op == "ConvInteger" ||
           node.op == "DynamicQuantizeLSTM";
  }

  Obstacle obstacle(const Node& node) const {
    const Graph& graph = view_.graph();
    const TargetOperator* row = find_operator(target_, graph, node);
    if (is_unit(node)) {
      return target_.units.empty() ? Obstacle{"the target has no such unit", operator_of(node)}
                                   : Obstacle{};
    }
    if (multiplies_integers(node)) {
      return {};
    }
    if (row == nullptr && !target_.operators.empty()) {
      return {"the target has no integer kernel for it", node.op};
    }
    if (!is_product(node) && find_affine_op(graph, node) == nullptr) {
      return {"it has no integer form", node.op};
    }
    if (acts_on_storage(node)) {
      return {};
    }
    if (const int block = weight_block(node); block != 0) {
      return {"its weights are in blocks of " + std::to_string(block) +
              ", whose products are added up in float"};
    }
    for (const ValueId operand : view_.data_operands(node)) {
      if (view_.dequantized(operand) == nullptr) {
        return {"its input is float", in_quotes(layer_name(graph.name(operand)))};
      }
    }
    if (graph.opset < first_opset_of(node.op)) {
      return {"the file writes it as several float operators", node.op};
    }
    if (const auto wide = wide_storage(node); wide && !takes(*wide, row)) {
      return {row != nullptr ? "the target computes on 16-bit values in float"
                             : "the target has no activations of 16 bits"};
    }
    if (is_product(node)) {
      return obstacle_of_product(node, row);
    }
    return view_.quantize_after(node.outputs[0]) != nullptr || reads_only_order(node)
               ? Obstacle{}
               : read_as_real(node);
  }

  /// How many weights share a scale; 0 where they are in no blocks.
  int weight_block(const Node& node) const {
    const QuantParams* weight = is_product(node) ? view_.dequantized(node.inputs[1]) : nullptr;
    return weight != nullptr ? weight->block : 0;
  }

  /// The type of 16 bits that an operand has, or what is made of the result.
  std::optional<DType> wide_storage(const Node& node) const {
    std::vector<DType> all;
    for (const ValueId operand : view_.data_operands(node)) {
      all.push_back(view_.dequantized(operand)->storage);
    }
    if (const Node* quantizer = view_.quantize_after(node.outputs[0])) {
      all.push_back(view_.graph().type(quantizer->outputs[0]).quant->storage);
    }
    const auto wide = std::find_if(all.begin(), all.end(),
                                   [](DType storage) { return size_of(storage) == 2; });
    return wide == all.end() ? std::nullopt : std::optional(*wide);
  }

  /// An engine of which nothing is listed runs what it reads.
  bool takes(DType wide, const TargetOperator* row) const {
    const auto& types = target_.wide_activations;
    return row != nullptr ? row->wide
                          : std::find(types.begin(), types.end(), wide) != types.end();
  }

  Obstacle obstacle_of_product(const Node& node, const TargetOperator* row) const {
    constexpr std::size_t kBias = 2;
    const QuantParams* weight = view_.dequantized(node.inputs[1]);
    const bool is_packed = weight->bits > 0 && view_.is_constant(node.inputs[1]);
    if (is_packed && !target_.packs_weights) {
      return {"its weights have 4 bits in the file, which the target dequantizes"};
    }
    const bool has_bias = node.inputs.size() > kBias && node.inputs[kBias];
    if (has_bias && !target_.float_bias && view_.dequantized(node.inputs[kBias]) == nullptr) {
      return {"its bias is float"};
    }
    if (row != nullptr && row->quantized_result &&
        view_.quantize_after(node.outputs[0]) == nullptr) {
      return read_as_real(node);
    }
    return obstacle_of_clip(node);
  }

  /// ONNX Runtime takes a Relu or Clip behind a product for part of its rounding, and where no
  /// Quantize follows, the product is none on integers.
  Obstacle obstacle_of_clip(const Node& node) const {
    const Graph& graph = view_.graph();
    const ValueId sums = node.outputs[0];
    if (!target_.quick_spelling || !graph.single_use(sums)) {
      return {};
    }
    const Node& user = graph.node(graph.users(sums)[0]);
    const ValueId clipped = user.outputs[0];
    return (user.op == "Relu" || user.op == "Clip") && !graph.users(clipped).empty() &&
                   view_.quantize_after(clipped) == nullptr
               ? read_as_real(user)
               : Obstacle{};
  }

  Obstacle read_as_real(const Node& node) const {
    return {"its result is read in float",
            in_quotes(layer_name(view_.graph().name(node.outputs[0])))};
  }

  bool reads_only_order(const Node& node) const {
    const AffineOp* row = find_affine_op(view_.graph(), node);
    return row != nullptr && row->rule == AffineRule::kCompares;
  }

  bool is_part(const Node& node) const {
    return node.op == "Add" ? joins_convolution(node)
                            : (node.op == "Relu" || node.op == "Clip") && joins_neighbour(node);
  }

  /// A Relu or Clip whose effect the Quantize after it has, or the kernel before it.
  bool joins_neighbour(const Node& node) const {
    const Graph& graph = view_.graph();
    if (acts_on_storage(node)) {
      return true;  // saturates, wherever the file has it
    }
    const auto producer = graph.producer(node.inputs[0]);
    if (!producer || !graph.single_use(node.inputs[0])) {
      return false;
    }
    const Node& before = graph.node(*producer);
    return view_.quantize_after(node.outputs[0]) != nullptr ||
           (target_.merges_activations && is_product(before) &&
            obstacle(before).reason.empty());
  }

  /// A residual that the target's convolution on integers adds.
  bool joins_convolution(const Node& node) const {
    const auto& patterns = target_.patterns;
    if (std::find(patterns.begin(), patterns.end(), "conv_add") == patterns.end()) {
      return false;
    }
    const auto is_sum = [this](ValueId operand) {
      const Graph& graph = view_.graph();
      const auto producer = operand ? graph.producer(operand) : std::nullopt;
      return producer && graph.node(*producer).op == "Conv" && graph.single_use(operand) &&
             obstacle(graph.node(*producer)).reason.empty();
    };
    return (is_sum(node.inputs[0]) && view_.dequantized(node.inputs[1]) != nullptr) ||
           (is_sum(node.inputs[1]) && view_.dequantized(node.inputs[0]) != nullptr);
  }

  QdqView view_;
  const Target& target_;
};

}  // namespace

std::vector<Verdict> verdicts(const Graph& qdq, const Target& target) {
  return KernelFinder(from_qdq(qdq), target).run();
}

}  // namespace tare
