// Finds where SmoothQuant can divide the channels of rows and leave results as they are: behind
// a normalization, a product with a row of constants or a layer, which take the factors out of
// their constants, and before matrices only, which take them in. A value that a sum reads too,
// as a residual does, has to stay as it is. From each value it walks to all readers and back to
// the source; long chains of moves or activations aside, that is a few nodes for each value.
#include "equalize/smoothquant_sites.h"

#include "graph/arithmetic/magnitude.h"
#include "graph/ir/replace_constant.h"
#include "graph/operators/product.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace tare {
namespace {

/// Elements of a constant in one step along the axis.
std::size_t stride_of(const Shape& shape, std::size_t axis) {
  return static_cast<std::size_t>(
      element_count(Shape(shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end())));
}

class SiteFinder {
 public:
  explicit SiteFinder(const Graph& graph) : graph_(graph) {}

  std::optional<SmoothQuantSite> at(ValueId value) {
    const TensorType& type = graph_.type(value);
    if (type.dtype != DType::kFloat32 || type.shape.size() < 2 || type.shape.back() == 0) {
      return std::nullopt;
    }
    channels_ = type.shape.back();
    site_ = {.value = value, .moved = {}, .inside = {}, .divided = {}, .weights = {}};
    const bool found = find_readers(value) && find_source(value);
    return found ? std::optional(std::move(site_)) : std::nullopt;
  }

 private:
  bool find_readers(ValueId value) {
    const std::vector<NodeId>& users = graph_.users(value);
    return !users.empty() && !graph_.is_output(value) &&
           std::all_of(users.begin(), users.end(),
                       [&](NodeId id) { return find_reader(value, id); });
  }

  bool find_reader(ValueId value, NodeId id) {
    const Node& node = graph_.node(id);
    if (moves_rows(node, value)) {
      site_.moved.push_back(node.outputs[0]);
      return find_readers(node.outputs[0]);
    }
    if (!has_matrix(node) || node.inputs[0] != value ||
        node.attributes.integer("transA", 0) != 0) {
      return false;
    }
    const std::size_t axis = weight_layout(node, 2).input;
    site_.weights.push_back({id, 1, axis});
    return graph_.type(node.inputs[1]).shape[axis] == channels_;
  }

  /// Whether rows of the result are rows of that operand.
  bool moves_rows(const Node& node, ValueId value) const {
    const Shape& result = graph_.type(node.outputs[0]).shape;
    if (std::count(node.inputs.begin(), node.inputs.end(), value) != 1 ||
        node.inputs[0] != value || result.empty() || result.back() != channels_) {
      return false;
    }
    const auto rank = static_cast<std::int64_t>(graph_.type(value).shape.size());
    if (node.op == "Gather") {
      const std::int64_t axis = node.attributes.integer("axis", 0);
      return (axis < 0 ? axis + rank : axis) != rank - 1;
    }
    return node.op == "Reshape" ||
           (node.op == "Transpose" && node.attributes.integers("perm", {0}).back() == rank - 1);
  }

  /// Whether factors can be taken out of what computes the value.
  bool find_source(ValueId value) {
    const auto producer = graph_.producer(value);
    if (!producer || (value != site_.value && !graph_.single_use(value))) {
      return false;
    }
    if (value != site_.value) {
      site_.inside.push_back(value);
    }
    const Node& node = graph_.node(*producer);
    if (node.op == "Relu" || node.op == "LeakyRelu") {
      return find_source(node.inputs[0]);
    }
    if (node.op == "Add") {
      const auto row = own_row(node);
      return row && divide(*producer, *row) && find_source(node.inputs[1 - *row]);
    }
    if (node.op == "Mul") {
      const auto row = own_row(node);
      return row ? divide(*producer, *row) : find_source_of_one(node);
    }
    if (node.op == "LayerNormalization") {
      return is_over_channels(node) && is_own_row(node.inputs[1]) && divide(*producer, 1) &&
             (node.inputs.size() < 3 || !node.inputs[2] ||
              (is_own_row(node.inputs[2]) && divide(*producer, 2)));
    }
    return is_layer(node) && divide_layer(*producer, node);
  }

  /// Of a product of two computed values, as gates make them, one takes the factors.
  bool find_source_of_one(const Node& product) {
    const SmoothQuantSite so_far = site_;
    for (const std::size_t operand : {std::size_t{1}, std::size_t{0}}) {
      const ValueId value = product.inputs[operand];
      if (graph_.constant(value) == nullptr && product.inputs[1 - operand] != value &&
          graph_.type(value).shape == graph_.type(product.outputs[0]).shape &&
          find_source(value)) {
        return true;
      }
      site_ = so_far;
    }
    return false;
  }

  bool is_layer(const Node& node) const {
    return has_matrix(node) && graph_.type(site_.value).shape.size() > 2;
  }

  bool divide_layer(NodeId id, const Node& node) {
    site_.divided.push_back({id, 1, weight_layout(node, 2).output});
    return node.inputs.size() < 3 || !node.inputs[2] ||
           (is_own_row(node.inputs[2]) && divide(id, 2));
  }

  /// A row of constants has the channels in its last axis.
  bool divide(NodeId id, std::size_t operand) {
    const ValueId constant = graph_.node(id).inputs[operand];
    site_.divided.push_back({id, operand, graph_.type(constant).shape.size() - 1});
    return true;
  }

  /// A product with a matrix of weights that nothing else reads.
  bool has_matrix(const Node& node) const {
    return (node.op == "MatMul" || node.op == "Gemm") && is_own(node.inputs[1]) &&
           graph_.type(node.inputs[1]).shape.size() == 2;
  }

  bool is_over_channels(const Node& node) const {
    const auto rank = static_cast<std::int64_t>(graph_.type(node.inputs[0]).shape.size());
    const std::int64_t axis = node.attributes.integer("axis", -1);
    return axis == -1 || axis == rank - 1;
  }

  /// Which of two operands is such a row.
  std::optional<std::size_t> own_row(const Node& node) const {
    for (const std::size_t operand : {std::size_t{1}, std::size_t{0}}) {
      if (is_own_row(node.inputs[operand])) {
        return operand;
      }
    }
    return std::nullopt;
  }

  bool is_own_row(ValueId value) const {
    const Shape& shape = graph_.type(value).shape;
    return is_own(value) && !shape.empty() && shape.back() == channels_ &&
           element_count(shape) == channels_;
  }

  bool is_own(ValueId value) const {
    return graph_.constant(value) != nullptr && graph_.single_use(value) &&
           graph_.type(value).dtype == DType::kFloat32;
  }

  const Graph& graph_;
  std::int64_t channels_ = 0;
  SmoothQuantSite site_;
};

const Tensor& tensor_of(const Graph& graph, const ChannelConstant& constant) {
  return *graph.constant(graph.node(constant.node).inputs[constant.operand]);
}

/// Calls `change` with each element and its channel.
template <class Change>
Tensor changed(const Graph& graph, const ChannelConstant& constant, std::size_t channels,
               const Change& change) {
  Tensor tensor = tensor_of(graph, constant);
  const std::size_t stride = stride_of(tensor.shape(), constant.axis);
  const auto values = tensor.mutable_view<float>();
  std::size_t channel = 0;
  for (std::size_t first = 0; first < values.size(); first += stride) {
    for (float& value : values.subspan(first, stride)) {
      change(value, channel);
    }
    channel = channel + 1 == channels ? 0 : channel + 1;
  }
  return tensor;
}

}  // namespace

std::size_t SmoothQuantSite::channels(const Graph& graph) const {
  return static_cast<std::size_t>(graph.type(value).shape.back());
}

std::vector<ValueId> SmoothQuantSite::values() const {
  std::vector<ValueId> result{value};
  result.insert(result.end(), moved.begin(), moved.end());
  result.insert(result.end(), inside.begin(), inside.end());
  return result;
}

std::vector<SmoothQuantSite> smoothquant_sites(const Graph& graph) {
  std::vector<SmoothQuantSite> result;
  SiteFinder finder(graph);
  for (const NodeId id : graph.topological_order()) {
    if (auto site = finder.at(graph.node(id).outputs[0])) {
      result.push_back(std::move(*site));
    }
  }
  return result;
}

std::vector<float> weight_magnitudes(const Graph& graph, const SmoothQuantSite& site) {
  std::vector<float> result(site.channels(graph));
  for (const ChannelConstant& weight : site.weights) {
    const Tensor& tensor = tensor_of(graph, weight);
    const std::size_t stride = stride_of(tensor.shape(), weight.axis);
    const auto values = tensor.view<float>();
    for (std::size_t first = 0, row = 0; first < values.size(); first += stride, ++row) {
      float& own = result[row % result.size()];
      own = std::max(own, largest_magnitude(values.subspan(first, stride)));
    }
  }
  return result;
}

void apply_smoothquant(Graph& graph, const SmoothQuantSite& site,
                       const std::vector<float>& factors) {
  for (const ChannelConstant& constant : site.divided) {
    replace_constant(graph, graph.node(constant.node).inputs[constant.operand],
                     changed(graph, constant, factors.size(),
                             [&](float& value, std::size_t c) { value /= factors[c]; }));
  }
  for (const ChannelConstant& weight : site.weights) {
    replace_constant(graph, graph.node(weight.node).inputs[weight.operand],
                     changed(graph, weight, factors.size(),
                             [&](float& value, std::size_t c) { value *= factors[c]; }));
  }
}

}  // namespace tare
