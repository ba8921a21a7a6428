// Exporters write the gates of a recurrent cell in many ways: one product for all of them or
// one for each, of the input and the state side by side or of each on its own, biases before or
// behind the sum. What all of them compute is a LinearForm.
#include "prepare/linear_form.h"

#include "tare/graph.h"

#include "prepare/constants.h"
#include "prepare/slice_axes.h"

#include <algorithm>

namespace tare {
namespace {

/// Columns of a value.
struct Columns {
  ValueId value;
  std::size_t first = 0;
  std::size_t count = 0;
};

std::size_t last_extent(const Graph& graph, ValueId value) {
  const Shape& shape = graph.type(value).shape;
  return shape.empty() ? 0 : static_cast<std::size_t>(shape.back());
}

class FormReader {
 public:
  explicit FormReader(const Graph& graph) : graph_(graph) {}

  /// Adds sign * columns. False: they are no such sum.
  bool add(const Columns& columns, double sign) {
    const auto producer = graph_.producer(columns.value);
    if (!producer || ++nodes_ > kMostNodes ||
        columns.first + columns.count > last_extent(graph_, columns.value)) {
      return false;
    }
    const Node& node = graph_.node(*producer);
    if (node.inputs.empty() || (node.op != "Split" && node.inputs.size() < 2)) {
      return false;
    }
    if (node.op == "Add" || node.op == "Sub") {
      return add_operand(node, 0, columns, sign) &&
             add_operand(node, 1, columns, node.op == "Sub" ? -sign : sign);
    }
    if (node.op == "MatMul" || node.op == "Gemm") {
      return add_product(node, columns, sign);
    }
    if (node.op == "Split" || node.op == "Slice") {
      return add_part(node, columns, sign);
    }
    return false;
  }

  LinearForm form;

 private:
  /// An operand of a sum, which may be smaller than the sum where it is constant.
  bool add_operand(const Node& node, std::size_t operand, const Columns& columns, double sign) {
    const ValueId value = node.inputs[operand];
    const Columns own{value, columns.first, columns.count};
    if (graph_.constant(value) != nullptr) {
      return add_bias(own, sign, columns.value);
    }
    return graph_.type(value).shape == graph_.type(columns.value).shape && add(own, sign);
  }

  bool add_bias(const Columns& columns, double sign, ValueId sum) {
    const Shape& shape = graph_.type(sum).shape;
    const auto numbers = shape.empty()
                             ? std::nullopt
                             : per_channel(graph_, columns.value, shape, shape.size() - 1);
    if (!numbers) {
      return false;
    }
    for (std::size_t i = 0; i < columns.count; ++i) {
      form.bias[i] += sign * (*numbers)[columns.first + i];
    }
    return true;
  }

  bool add_product(const Node& node, const Columns& columns, double sign) {
    const Tensor* matrix = graph_.constant(node.inputs[1]);
    const bool is_gemm = node.op == "Gemm";
    if (matrix == nullptr || matrix->shape().size() != 2 ||
        matrix->dtype() != DType::kFloat32 ||
        (is_gemm &&
         (node.attributes.integer("transA", 0) != 0 || node.attributes.real("alpha", 1) != 1 ||
          node.attributes.real("beta", 1) != 1))) {
      return false;
    }
    const bool has_bias = is_gemm && node.inputs.size() > 2 && node.inputs[2];
    if (has_bias &&
        !add_bias({node.inputs[2], columns.first, columns.count}, sign, node.outputs[0])) {
      return false;
    }
    const bool is_transposed = is_gemm && node.attributes.integer("transB", 0) != 0;
    const auto inputs = static_cast<std::size_t>(matrix->shape()[is_transposed ? 1 : 0]);
    const auto outputs = static_cast<std::size_t>(matrix->shape()[is_transposed ? 0 : 1]);
    const std::vector<ValueId> sources = parts_of(node.inputs[0]);
    std::size_t widths = 0;
    for (const ValueId source : sources) {
      widths += last_extent(graph_, source);
    }
    if (widths != inputs || outputs != last_extent(graph_, node.outputs[0])) {
      return false;
    }
    std::size_t row = 0;
    for (const ValueId source : sources) {
      const std::size_t width = last_extent(graph_, source);
      std::vector<double>& sum = form.products[source];
      sum.resize(columns.count * width, 0);
      const auto weights = matrix->view<float>();
      const auto all = static_cast<std::size_t>(matrix->shape()[1]);
      for (std::size_t i = 0; i < columns.count; ++i) {
        const std::size_t column = columns.first + i;
        for (std::size_t k = 0; k < width; ++k) {
          const std::size_t place =
              is_transposed ? column * inputs + row + k : (row + k) * all + column;
          sum[i * width + k] += sign * static_cast<double>(weights[place]);
        }
      }
      row += width;
    }
    return true;
  }

  /// Values that lie side by side.
  std::vector<ValueId> parts_of(ValueId value) const {
    const auto producer = graph_.producer(value);
    if (!producer || graph_.node(*producer).op != "Concat") {
      return {value};
    }
    const Node& concat = graph_.node(*producer);
    const auto rank = static_cast<std::int64_t>(graph_.type(value).shape.size());
    const std::int64_t axis = concat.attributes.integer("axis");
    return axis == -1 || axis == rank - 1 ? concat.inputs : std::vector{value};
  }

  /// Columns of what a Split or Slice takes them from.
  bool add_part(const Node& node, const Columns& columns, double sign) {
    const auto rank = static_cast<std::int64_t>(graph_.type(node.inputs[0]).shape.size());
    const auto is_last = [&](std::int64_t axis) { return axis == -1 || axis == rank - 1; };
    std::size_t before = 0;
    if (node.op == "Split") {
      if (!is_last(node.attributes.integer("axis", 0))) {
        return false;
      }
      for (const ValueId part : node.outputs) {
        if (part == columns.value) {
          break;
        }
        before += last_extent(graph_, part);
      }
    } else {
      const auto start = start_of_columns(node);
      if (!start) {
        return false;
      }
      before = *start;
    }
    return add({node.inputs[0], before + columns.first, columns.count}, sign);
  }

  /// Where a Slice that takes neighbouring columns of all rows begins.
  std::optional<std::size_t> start_of_columns(const Node& slice) const {
    const auto axes = slice_axes(graph_, slice);
    const Shape& from = graph_.type(slice.inputs[0]).shape;
    const Shape& to = graph_.type(slice.outputs[0]).shape;
    if (!axes || from.empty() || to.empty() ||
        !std::equal(from.begin(), from.end() - 1, to.begin(), to.end() - 1)) {
      return std::nullopt;
    }
    std::int64_t start = 0;
    for (const AxisSlice& along : *axes) {
      if (along.step != 1) {
        return std::nullopt;
      }
      start = along.axis + 1 == from.size() ? along.begin(from.back()) : start;
    }
    return static_cast<std::size_t>(start);
  }

  /// Sums of sums of the same value could be looked at without end.
  static constexpr int kMostNodes = 64;

  const Graph& graph_;
  int nodes_ = 0;
};

}  // namespace

std::optional<LinearForm> linear_form(const Graph& graph, ValueId value) {
  FormReader reader(graph);
  const std::size_t columns = last_extent(graph, value);
  reader.form.bias.resize(columns, 0);
  if (!reader.add({value, 0, columns}, 1)) {
    return std::nullopt;
  }
  return std::move(reader.form);
}

}  // namespace tare
