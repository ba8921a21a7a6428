// The shapes of a whole graph for other shapes of its inputs. The builder does the same for a
// graph that grows; here it is there already, may have operators of the toolkit, and most of
// it does not change.
#include "onnx/infer_graph.h"

#include "tare/error.h"

#include "graph/operators/detection_post_process.h"
#include "graph/operators/inner_graphs.h"
#include "graph/operators/shape_facts.h"
#include "onnx/infer.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tare {
namespace {

/// Operators that are not ONNX's; each has the shape of its first operand.
bool keeps_shape(const std::string& op) {
  constexpr std::array kOps{
      "Quantize",     "Dequantize", "Requantize", "SimulatedQuantize", "SimulatedDequantize",
      "FakeQuantize", "Gelu",       "Rsqrt"};
  return std::find(kOps.begin(), kOps.end(), op) != kOps.end();
}

class Inference {
 public:
  Inference(const Graph& graph, const Evaluator& evaluate)
      : graph_(graph), evaluate_(evaluate) {}

  void set_shape(ValueId id, Shape shape) { result_.shapes.insert_or_assign(id, shape); }
  void assume(ValueId id, Tensor tensor) { result_.known.emplace(id, std::move(tensor)); }

  void visit(const Node& node) {
    std::vector<TensorType> types = types_of(node);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      result_.shapes.emplace(node.outputs[i], types[i].shape);
    }
    remember(node, types);
  }

  InferredValues take() { return std::move(result_); }

 private:
  const Shape& shape(ValueId id) const {
    const auto found = result_.shapes.find(id);
    return found == result_.shapes.end() ? graph_.type(id).shape : found->second;
  }
  TensorType type(ValueId id) const {
    TensorType result = graph_.type(id);
    result.shape = shape(id);
    return result;
  }
  const Tensor* known(ValueId id) const {
    const auto found = result_.known.find(id);
    return found == result_.known.end() ? graph_.constant(id) : &found->second;
  }

  /// Nothing that decides the shapes of its results is other than in the graph.
  bool is_unchanged(const Node& node) const {
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return !input ||
             (shape(input) == graph_.type(input).shape && !result_.known.contains(input));
    });
  }

  std::vector<TensorType> types_of(const Node& node) const {
    std::vector<TensorType> types;
    for (const ValueId output : node.outputs) {
      types.push_back(graph_.type(output));
    }
    if (is_unchanged(node)) {
      return types;
    }
    const std::vector<Shape> shapes = shapes_of(node);
    for (std::size_t i = 0; i < types.size(); ++i) {
      types[i].shape = shapes.at(i);
    }
    return types;
  }

  std::vector<Shape> shapes_of(const Node& node) const {
    if (keeps_shape(node.op)) {
      return {shape(node.inputs.at(0))};
    }
    if (node.op == kDetectionPostProcess) {
      return shapes_in(detection_types(detection_options(node.attributes),
                                       shape(node.inputs.at(0)), shape(node.inputs.at(1)),
                                       shape(node.inputs.at(2))));
    }
    if (!graph_attributes(node.op).empty()) {
      throw Error(ErrorCode::kUnsupported, "", "its inner graphs have fixed shapes");
    }
    InferenceRequest request{node.name, node.op, node.attributes, {}, node.outputs.size()};
    std::vector<TensorType> types;
    types.reserve(node.inputs.size());
    for (const ValueId input : node.inputs) {
      types.push_back(input ? type(input) : TensorType{});
      if (types.back().quant) {
        types.back().dtype = DType::kFloat32;  // the library knows operators on real values
      }
      request.operands.push_back(input ? KnownOperand{&types.back(), known(input)}
                                       : KnownOperand{});
    }
    std::vector<Shape> shapes = infer_shapes(request);
    if (node.op == "Reshape" &&
        element_count(shapes.at(0)) != element_count(types.at(0).shape)) {
      // The library does not count where the target says all extents.
      throw Error(ErrorCode::kInvalidModel, "", "the operand is " + to_string(types[0].shape))
          .expected("as many elements as " + to_string(shapes[0]) + " has");
    }
    return shapes;
  }

  static std::vector<Shape> shapes_in(const std::vector<TensorType>& types) {
    std::vector<Shape> shapes;
    for (const TensorType& type : types) {
      shapes.push_back(type.shape);
    }
    return shapes;
  }

  void remember(const Node& node, const std::vector<TensorType>& types) {
    if (!node.inputs.empty() && node.inputs[0]) {
      if (auto fact = fact_of_shape(node, shape(node.inputs[0]))) {
        result_.known.emplace(node.outputs[0], *std::move(fact));
        return;
      }
    }
    std::vector<const Tensor*> operands;
    bool knowable = evaluate_ && !node.inputs.empty();
    for (const ValueId input : node.inputs) {
      operands.push_back(input ? known(input) : nullptr);
      knowable =
          knowable && (!input || (operands.back() != nullptr && !graph_.type(input).quant));
    }
    for (const TensorType& type : types) {
      knowable = knowable && !type.quant && element_count(type.shape) <= kMostKnownElements;
    }
    if (!knowable) {
      return;
    }
    try {
      std::vector<Tensor> results = evaluate_(node, operands, types);
      for (std::size_t i = 0; i < results.size(); ++i) {
        result_.known.emplace(node.outputs.at(i), std::move(results[i]));
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnsupported) {
        throw;
      }
    }
  }

  const Graph& graph_;
  const Evaluator& evaluate_;
  InferredValues result_;
};

}  // namespace

Graph with_input_shapes(const Graph& graph, std::span<const Shape> shapes,
                        const Evaluator& evaluate) {
  std::map<ValueId, Shape> inputs;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    inputs.emplace(graph.inputs()[i], shapes[i]);
  }
  Graph result = graph;
  for (auto& [id, shape] : infer_graph(graph, inputs, evaluate).shapes) {
    TensorType type = graph.type(id);
    if (type.shape != shape) {
      type.shape = shape;
      result.set_type(id, std::move(type));
    }
  }
  return result;
}

InferredValues infer_graph(const Graph& graph, const std::map<ValueId, Shape>& inputs,
                           const Evaluator& evaluate,
                           const std::map<ValueId, Tensor>& assumed) {
  Inference inference(graph, evaluate);
  for (const auto& [id, shape] : inputs) {
    inference.set_shape(id, shape);
  }
  for (const auto& [id, tensor] : assumed) {
    inference.assume(id, tensor);
  }
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    try {
      inference.visit(node);
    } catch (Error& error) {
      error.at("node '" + node.name + "' (" + node.op + ")");
      throw;
    }
  }
  return inference.take();
}

}  // namespace tare
