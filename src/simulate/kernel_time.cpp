#include "simulate/kernel_time.h"

#include "tare/graph.h"

#include "graph/operators/product.h"

namespace tare {
namespace {

double elements_of(const Shape& shape) {
  return static_cast<double>(element_count(shape));
}

/// Positions of the window of a convolution's kernel [M, C/groups, ...].
double window(const Shape& kernel) {
  return elements_of(Shape(kernel.begin() + 2, kernel.end()));
}

/// Whether it reads a window for each result.
bool is_pool(const Node& node) {
  return node.op == "AveragePool" || node.op == "MaxPool";
}

/// Whether it reads all elements of its operand for a smaller result.
bool reduces(const Node& node) {
  return node.op.starts_with("Reduce") || node.op.ends_with("Pool") || node.op == "ArgMax" ||
         node.op == "ArgMin";
}

/// Multiplications of a sum of products or of a recurrent layer, elements of other operators.
double work(const Graph& graph, const Node& node) {
  return is_product(node) || is_recurrent(node)
             ? multiplications(graph, node)
             : elements_of(graph.type(reduces(node) ? node.inputs[0] : node.outputs[0]).shape);
}

/// What a convolution takes to read its windows, for all positions of a result with all its
/// channels at once, and a pool.
double window_time(const Graph& graph, const Node& node, const KernelCost& cost) {
  if (is_pool(node)) {
    return cost.gathered * elements_of(graph.type(node.outputs[0]).shape) *
           elements_of(node.attributes.integers("kernel_shape", std::vector<std::int64_t>()));
  }
  if (node.op != "Conv") {
    return 0;
  }
  const Shape& weights = graph.type(node.inputs[1]).shape;
  const Shape& result = graph.type(node.outputs[0]).shape;
  if (element_count(result) == 0) {
    return 0;
  }
  const double reads = window(weights) * elements_of(result) / static_cast<double>(result[1]);
  const std::int64_t groups = node.attributes.integer("group", 1);
  const bool is_depthwise = weights[1] == 1 && groups > 1;
  const double gathered = is_depthwise ? 0 : reads * static_cast<double>(weights[1] * groups);
  return (window(weights) == 1 ? 0 : cost.window * reads) + cost.gathered * gathered;
}

/// Results of a sum of products or a pool, steps of a recurrent layer.
double results(const Graph& graph, const Node& node) {
  if (is_recurrent(node)) {
    const Shape& x = graph.type(node.inputs[0]).shape;
    return static_cast<double>(x[0] * x[1]);
  }
  return is_product(node) || is_pool(node) ? elements_of(graph.type(node.outputs[0]).shape) : 0;
}

}  // namespace

double kernel_time(const Graph& graph, const Node& node, const KernelCost& cost) {
  const bool has_weights = is_product(node) && graph.constant(node.inputs[1]) != nullptr;
  const double weights = has_weights ? elements_of(graph.type(node.inputs[1]).shape) : 0;
  return cost.call + cost.work * work(graph, node) + cost.result * results(graph, node) +
         cost.weight * weights + window_time(graph, node, cost);
}

}  // namespace tare
