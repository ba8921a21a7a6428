// Holds a graph of QuantizeLinear and DequantizeLinear against the rules of a target, one check
// after the other for each node. It reads the graph as lower() would, so that spellings of the
// same parameters are no findings. Linear in the graph.
#include "tare/graph.h"
#include "tare/integer_graph.h"

#include "explain/qdq_view.h"
#include "graph/operators/affine_ops.h"
#include "graph/operators/product.h"
#include "lower/lower.h"
#include "simulate/target_operator.h"

#include <algorithm>
#include <set>

namespace tare {
namespace {

std::string text(DType type) {
  return std::string(name_of(type));
}

bool all_zero(std::span<const std::int32_t> values) {
  return std::all_of(values.begin(), values.end(), [](std::int32_t v) { return v == 0; });
}

/// The axis of output channels of a product's second operand.
int weight_axis(const Graph& graph, const Node& node) {
  return static_cast<int>(weight_layout(node, graph.type(node.inputs[1]).shape.size()).output);
}

class Linter {
 public:
  Linter(const Graph& graph, const Target& target) : view_(graph), target_(target) {}

  std::vector<LintFinding> run() {
    const Graph& graph = view_.graph();
    for (const NodeId id : graph.topological_order()) {
      const Node& node = graph.node(id);
      if (node.op == "QuantizeLinear" || node.op == "DequantizeLinear") {
        report(node, "scales are constant and positive, zero points constant",
               "they are computed, or no parameters");
      } else if (node.op == "Quantize") {
        check_activation(node);
      } else if (node.op == "Dequantize") {
        check_place(node);
      } else {
        check_operator(node);
      }
    }
    return std::move(findings_);
  }

 private:
  void report(const Node& node, std::string rule, std::string what) {
    findings_.push_back({node.name, std::move(rule), std::move(what)});
  }

  void check_activation(const Node& node) {
    const QuantParams& params = *view_.graph().type(node.outputs[0]).quant;
    if (params.storage != target_.activation_storage && !has_wide_kernels(params.storage)) {
      report(node, "activations are " + text(target_.activation_storage),
             "this one is " + text(params.storage));
    }
    if (target_.activation_symmetric && !all_zero(params.zero_point)) {
      report(node, "every zero point is 0",
             "this one is " + std::to_string(params.zero_point[0]));
    }
    if (params.per_axis()) {
      report(node, "activations have one scale",
             "this one has " + std::to_string(params.scale.size()) + " of them");
    }
  }

  /// A type of 16 bits that the target does not compute on in float.
  bool has_wide_kernels(DType storage) const {
    const auto& wide = target_.wide_activations;
    return tare::has_wide_kernels(target_) &&
           std::find(wide.begin(), wide.end(), storage) != wide.end();
  }

  /// Where activations merge, nothing is rounded before them; nor before an output for nothing.
  void check_place(const Node& node) {
    const Graph& graph = view_.graph();
    const auto quantizer = graph.producer(node.inputs[0]);
    if (!quantizer || graph.node(*quantizer).op != "Quantize") {
      return;
    }
    const auto source = graph.producer(graph.node(*quantizer).inputs[0]);
    if (!source || !is_product(graph.node(*source))) {
      return;
    }
    const ValueId result = node.outputs[0];
    for (const NodeId user : graph.users(result)) {
      const std::string& op = graph.node(user).op;
      if (target_.merges_activations &&
          (op == "Relu" || op == "Clip" || op == "BatchNormalization")) {
        report(node, "no conversion stands between a product and its activation",
               "it stands before the " + op + " '" + graph.node(user).name + "'");
      }
    }
    if (graph.users(result).empty() && target_.objective != Objective::kCoverage &&
        !wants_quantized_result(graph.node(*source))) {
      report(node, "no conversion stands before an output of the graph",
             "the result of '" + graph.node(*source).name + "' is rounded there");
    }
  }

  bool wants_quantized_result(const Node& node) const {
    const TargetOperator* row = find_operator(target_, view_.graph(), node);
    return row != nullptr && row->quantized_result;
  }

  void check_operator(const Node& node) {
    if (is_product(node) && view_.dequantized(node.inputs[0]) != nullptr &&
        !has_weight_blocks(node)) {
      check_weight(node);
      check_bias(node);
    }
    check_widths(node);
    check_residual(node);
    check_unified(node);
    check_fixed_range(node);
    check_movement(node);
    if (target_.objective == Objective::kCoverage) {
      check_coverage(node);
    }
  }

  /// A target with kernels for 8 and 16 bits has none that mix them.
  void check_widths(const Node& node) {
    if (!tare::has_wide_kernels(target_)) {
      return;
    }
    std::set<DType> types;
    for (const ValueId operand : view_.data_operands(node)) {
      const QuantParams* params = view_.dequantized(operand);
      if (params != nullptr && !(is_product(node) && view_.is_constant(operand))) {
        types.insert(params->storage);
      }
    }
    for (const ValueId output : node.outputs) {
      if (const Node* quantizer = view_.quantize_after(output)) {
        types.insert(view_.graph().type(quantizer->outputs[0]).quant->storage);
      }
    }
    std::string all;
    std::set<std::size_t> widths;
    for (const DType type : types) {
      all += (all.empty() ? "" : " and ") + text(type);
      widths.insert(size_of(type));
    }
    if (widths.size() > 1) {
      report(node, "an operator reads and computes values of one width",
             "here they are " + all);
    }
  }

  /// Such a product is one of real values, whatever they are rounded for.
  bool has_weight_blocks(const Node& node) const {
    const QuantParams* weight = view_.dequantized(node.inputs[1]);
    return weight != nullptr && weight->block != 0;
  }

  void check_weight(const Node& node) {
    const QuantParams* params = view_.dequantized(node.inputs[1]);
    if (params == nullptr) {
      report(node, "both factors of a product are quantized or none is",
             "'" + view_.graph().name(node.inputs[1]) + "' is float");
      return;
    }
    if (!view_.is_constant(node.inputs[1])) {
      return;
    }
    if (params->storage != target_.weight_storage || !all_zero(params->zero_point)) {
      report(node, "weights are symmetric " + text(target_.weight_storage),
             "they are " + text(params->storage) + " with zero point " +
                 std::to_string(params->zero_point[0]));
    }
    if (params->bits > 0 && !target_.packs_weights) {
      report(node, "weights are stored in bytes",
             "they have " + std::to_string(params->bits) + " bits");
    }
    const int axis = weight_axis(view_.graph(), node);
    if (params->axis.value_or(axis) != axis) {
      report(node, "scales of weights go along axis " + std::to_string(axis),
             "they go along axis " + std::to_string(*params->axis));
    }
  }

  void check_bias(const Node& node) {
    constexpr std::size_t kBias = 2;
    if (node.inputs.size() <= kBias || !node.inputs[kBias]) {
      return;
    }
    const QuantParams* bias = view_.dequantized(node.inputs[kBias]);
    if (target_.float_bias) {
      if (bias != nullptr) {
        report(node, "biases are float", "this one is " + text(bias->storage));
      }
      return;
    }
    if (bias == nullptr || bias->storage != DType::kInt32 || !all_zero(bias->zero_point)) {
      report(node, "biases are i32 with zero point 0",
             bias == nullptr ? "this one is float" : "this one is " + text(bias->storage));
      return;
    }
    const float input = view_.dequantized(node.inputs[0])->scale[0];
    const QuantParams* weight = view_.dequantized(node.inputs[1]);
    if (weight == nullptr) {
      return;
    }
    const std::string rule =
        "the scale of a bias is that of the input times that of the weight";
    if (weight->per_axis() && weight->scale.size() != bias->scale.size()) {
      report(node, rule,
             "it has " + std::to_string(bias->scale.size()) + " scales, the weight " +
                 std::to_string(weight->scale.size()));
      return;
    }
    for (std::size_t i = 0; i < bias->scale.size(); ++i) {
      const float expected = input * weight->scale[weight->per_axis() ? i : 0];
      if (bias->scale[i] != expected) {
        report(node, rule,
               "channel " + std::to_string(i) + " has " + std::to_string(bias->scale[i]));
        return;
      }
    }
  }

  /// Where the target adds a residual inside of the convolution, that is not rounded before.
  void check_residual(const Node& node) {
    const auto& names = target_.patterns;
    if (node.op != "Add" || std::find(names.begin(), names.end(), "conv_add") == names.end()) {
      return;
    }
    const Graph& graph = view_.graph();
    int sums = 0;
    for (const ValueId operand : node.inputs) {
      const ValueId storage = view_.storage(operand);
      const auto quantizer = storage ? graph.producer(storage) : std::nullopt;
      if (!quantizer || !graph.single_use(operand) || !graph.single_use(storage)) {
        continue;
      }
      const auto source = graph.producer(graph.node(*quantizer).inputs[0]);
      sums += source && graph.node(*source).op == "Conv" ? 1 : 0;
    }
    const bool both = view_.dequantized(node.inputs[0]) != nullptr &&
                      view_.dequantized(node.inputs[1]) != nullptr;
    if (sums > 0 && both) {
      report(node, "only the residual is quantized, not the sum that it joins",
             "both operands are");
    }
  }

  void check_unified(const Node& node) {
    const auto& ops = target_.unified;
    if (std::find(ops.begin(), ops.end(), node.op) == ops.end()) {
      return;
    }
    std::vector<const QuantParams*> all;
    for (const ValueId operand : view_.data_operands(node)) {
      all.push_back(view_.dequantized(operand));
    }
    if (const Node* quantizer = view_.quantize_after(node.outputs[0])) {
      all.push_back(&*view_.graph().type(quantizer->outputs[0]).quant);
    }
    std::erase(all, nullptr);
    for (const QuantParams* params : all) {
      if (*params != *all.front()) {
        report(node, "a " + node.op + " has one set of parameters for all it joins",
               to_string(*params) + " beside " + to_string(*all.front()));
        return;
      }
    }
  }

  /// Such a value has the parameters of all that it is joined with.
  bool feeds_unified(ValueId storage) const {
    const Graph& graph = view_.graph();
    const auto is_unified = [&](NodeId id) {
      const auto& ops = target_.unified;
      return std::find(ops.begin(), ops.end(), graph.node(id).op) != ops.end();
    };
    for (const NodeId id : graph.users(storage)) {
      const auto readers = graph.users(graph.node(id).outputs[0]);
      if (std::any_of(readers.begin(), readers.end(), is_unified)) {
        return true;
      }
    }
    return false;
  }

  void check_fixed_range(const Node& node) {
    for (const FixedRange& fixed : target_.fixed_ranges) {
      const Node* quantizer = view_.quantize_after(node.outputs[0]);
      if (fixed.op != node.op || quantizer == nullptr || feeds_unified(quantizer->outputs[0])) {
        continue;
      }
      const QuantParams& params = *view_.graph().type(quantizer->outputs[0]).quant;
      const QuantParams wanted =
          to_quant_params({fixed.range(params.storage)}, {.storage = params.storage});
      if (params.scale != wanted.scale || params.zero_point != wanted.zero_point) {
        report(node, "the result of a " + node.op + " has " + to_string(wanted),
               "it has " + to_string(params));
      }
    }
  }

  void check_movement(const Node& node) {
    const AffineOp* row = find_affine_op(view_.graph(), node);
    if (row == nullptr || row->rule != AffineRule::kMoves) {
      return;
    }
    const QuantParams* before = view_.dequantized(node.inputs[0]);
    const Node* after = view_.quantize_after(node.outputs[0]);
    if (before == nullptr || after == nullptr) {
      return;
    }
    const QuantParams& result = *view_.graph().type(after->outputs[0]).quant;
    if (before->scale != result.scale || before->zero_point != result.zero_point ||
        before->storage != result.storage) {
      report(node, "operators that move elements keep their parameters",
             to_string(*before) + " becomes " + to_string(result));
    }
  }

  void check_coverage(const Node& node) {
    const Graph& graph = view_.graph();
    if (!is_product(node) && find_affine_op(graph, node) == nullptr) {
      return;
    }
    for (const ValueId operand : view_.data_operands(node)) {
      const auto producer = graph.producer(operand);
      const bool is_activation = (node.op == "Relu" || node.op == "Clip") && producer &&
                                 view_.quantize_after(operand) != nullptr;
      if (graph.type(operand).dtype == DType::kFloat32 && !is_activation &&
          view_.dequantized(operand) == nullptr) {
        report(node, "everything with an integer form is quantized",
               "its input '" + graph.name(operand) + "' is float");
      }
    }
  }

  QdqView view_;
  const Target& target_;
  std::vector<LintFinding> findings_;
};

}  // namespace

std::vector<LintFinding> lint(const Graph& qdq, const Target& target) {
  return Linter(from_qdq(qdq), target).run();
}

std::vector<LintFinding> lint(const Graph& integer, const Target& target,
                              std::span<const LintRule> rules) {
  std::vector<LintFinding> all;
  for (const LintRule& rule : rules) {
    const auto is_it = [&](const std::string& name) {
      return name == target.name || name == target.extends;
    };
    if (!rule.targets.empty() &&
        std::none_of(rule.targets.begin(), rule.targets.end(), is_it)) {
      continue;
    }
    for (LintFinding& found : rule.check(integer, target)) {
      found.rule = found.rule.empty() ? std::string(rule.name) : std::move(found.rule);
      all.push_back(std::move(found));
    }
  }
  return all;
}

}  // namespace tare
