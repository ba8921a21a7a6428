#include "tare/graph.h"

#include "graph/text/literal.h"
#include "graph/text/scanner.h"

#include <algorithm>
#include <limits>

namespace tare {
namespace {

constexpr std::size_t kWidth = 96;

/// items[0], ", ", items[1], ...
template <class Items, class F>
void append_separated(std::string& out, const Items& items, F&& append) {
  bool first = true;
  for (const auto& item : items) {
    if (!first) {
      out += ", ";
    }
    first = false;
    append(item);
  }
}

/// Like append_literal, with a mark that tells a float from an integer.
void append_real(std::string& out, float value) {
  std::string text;
  append_literal(text, value);
  const bool marked = text.find_first_of(".en") != std::string::npos;
  out += marked ? text : text + ".0";
}

template <class T>
void append_list(std::string& out, const SharedArray<T>& items, std::int64_t elide_above) {
  if (static_cast<std::int64_t>(items.size()) > elide_above) {
    out += "...";
    return;
  }
  out += '[';
  append_separated(out, items, [&](T item) { append_literal(out, item); });
  out += ']';
}

void append_params(std::string& out, const QuantParams& params, std::int64_t elide_above) {
  out += "q(";
  if (params.axis) {
    out += "axis=" + std::to_string(*params.axis) + ", ";
    if (params.block != 0) {
      out += "block=" + std::to_string(params.block) + ", ";
    }
    append_list(out, params.scale, elide_above);
    out += ", ";
    append_list(out, params.zero_point, elide_above);
  } else {
    append_literal(out, params.scale[0]);
    out += ", ";
    append_literal(out, params.zero_point[0]);
  }
  out += params.narrow_range ? ", narrow" : "";
  if (params.bits != 0) {
    out += ", bits=" + std::to_string(params.bits);
  }
  out += ')';
}

class Printer {
 public:
  Printer(const Graph& graph, std::int64_t elide_above)
      : graph_(graph), elide_above_(elide_above) {}

  std::string print() {
    append("graph ", in_quotes(graph_.graph_name), " opset ", std::to_string(graph_.opset),
           " (");
    append_separated(out_, graph_.inputs(), [&](ValueId id) { definition(id); });
    append(") -> (");
    append_separated(out_, graph_.outputs(), [&](ValueId id) { operand(id); });
    append(") {\n");
    dimensions();
    file_types();
    for (const ValueId id : graph_.values()) {
      if (const Tensor* tensor = graph_.constant(id)) {
        append("  const ");
        definition(id);
        append(" = ");
        elements(*tensor);
        append("\n");
      }
    }
    for (const NodeId id : graph_.topological_order()) {
      node(graph_.node(id));
    }
    append("}\n");
    return std::move(out_);
  }

 private:
  template <class... Parts>
  void append(const Parts&... parts) {
    (out_.append(parts), ...);
  }

  /// `dimensions` names the extents, or is empty.
  void type(const TensorType& type, std::span<const std::string> dimensions = {}) {
    append(name_of(type.dtype), "[");
    for (std::size_t i = 0; i < type.shape.size(); ++i) {
      append(i == 0 ? "" : ",");
      if (!dimensions.empty() && !dimensions[i].empty()) {
        append(written_name(dimensions[i]), "=");
      }
      append_literal(out_, type.shape[i]);
    }
    append("]");
    if (type.quant) {
      append(" ");
      if (type.quant->storage != type.dtype) {
        append(name_of(type.quant->storage), " ");
      }
      append_params(out_, *type.quant, elide_above_);
    }
    if (!type.point.empty()) {
      append(" @", written_name(type.point));
    }
  }

  /// On as many lines as it takes.
  void elements(const Tensor& tensor) {
    if (tensor.size() > elide_above_) {
      append("...");
      return;
    }
    const auto count = static_cast<std::size_t>(tensor.size());
    append("[");
    with_element_type(tensor.dtype(), [&](auto tag) {
      const auto* items = reinterpret_cast<const decltype(tag)*>(tensor.data());
      std::size_t line_start = out_.rfind('\n') + 1;  // npos + 1 is 0
      std::string text;
      for (std::size_t i = 0; i < count; ++i) {
        text.clear();
        append_literal(text, items[i]);
        text += i + 1 < count ? "," : "]";
        if (out_.size() + 1 + text.size() > line_start + kWidth) {
          line_start = out_.size() + 1;
          append("\n    ");
        } else if (i != 0) {
          append(" ");
        }
        append(text);
      }
    });
    append(count == 0 ? "]" : "");
  }

  void operand(ValueId id) {
    if (id) {
      append("%", written_name(graph_.name(id)));
    } else {
      append("_");
    }
  }

  /// The names of the dimensions of a value, when its type can carry them.
  std::span<const std::string> inline_dimensions(ValueId id) const {
    const auto found = graph_.dimension_names.find(graph_.name(id));
    if (found == graph_.dimension_names.end() ||
        found->second.size() != graph_.type(id).shape.size() ||
        std::all_of(found->second.begin(), found->second.end(),
                    [](const std::string& name) { return name.empty(); })) {
      return {};
    }
    return found->second;
  }

  /// What types cannot carry: nothing but empty names, another rank, or no value of that name.
  void dimensions() {
    for (const auto& [name, dimensions] : graph_.dimension_names) {
      const auto value = graph_.find_value(name);
      if (value && !inline_dimensions(*value).empty()) {
        continue;
      }
      append("  dims %", written_name(name), " [");
      append_separated(out_, dimensions, [&](const std::string& dimension) {
        append(dimension.empty() ? "_" : written_name(dimension));
      });
      append("]\n");
    }
  }

  /// Names by type.
  void file_types() {
    std::map<DType, std::vector<std::string>> names;
    for (const auto& [name, dtype] : graph_.file_types) {
      names[dtype].push_back(name);
    }
    for (const auto& [dtype, of_type] : names) {
      append("  filetype ", name_of(dtype), " [");
      append_separated(out_, of_type,
                       [&](const std::string& name) { append("%", written_name(name)); });
      append("]\n");
    }
  }

  void typed(ValueId id) { type(graph_.type(id), inline_dimensions(id)); }

  void definition(ValueId id) {
    operand(id);
    append(" : ");
    typed(id);
  }

  void node(const Node& node) {
    append("  ");
    if (node.name != graph_.name(node.outputs.front())) {
      append(written_name(node.name), ": ");
    }
    const auto append_operand = [&](ValueId id) { operand(id); };
    append_separated(out_, node.outputs, append_operand);
    append(" = ", written_name(node.op), "(");
    append_separated(out_, node.inputs, append_operand);
    append(")");
    if (!node.attributes.items().empty()) {
      append(" {");
      append_separated(out_, node.attributes.items(), [&](const auto& item) {
        append(written_name(item.first), "=");
        std::visit([&](const auto& value) { attribute(value); }, item.second);
      });
      append("}");
    }
    append(" : ");
    append_separated(out_, node.outputs, [&](ValueId id) { typed(id); });
    append("\n");
  }

  void attribute(std::int64_t value) { append_literal(out_, value); }
  void attribute(float value) { append_real(out_, value); }
  void attribute(const std::string& value) { append(in_quotes(value)); }
  void attribute(const Tensor& value) {
    type({.dtype = value.dtype(), .shape = value.shape(), .quant = {}, .point = {}});
    append(" ");
    elements(value);
  }
  template <class T>
  void attribute(const std::vector<T>& values) {
    // A list without elements does not show what its elements would have been.
    if (values.empty() && std::is_same_v<T, float>) {
      append("floats");
    } else if (values.empty() && std::is_same_v<T, std::string>) {
      append("strings");
    }
    append("[");
    append_separated(out_, values, [&](const T& value) { attribute(value); });
    append("]");
  }

  const Graph& graph_;
  std::int64_t elide_above_;
  std::string out_;
};

}  // namespace

std::string print(const Graph& graph, std::int64_t elide_above) {
  return Printer(graph, elide_above).print();
}

std::string to_string(const QuantParams& params) {
  std::string result;
  append_params(result, params, std::numeric_limits<std::int64_t>::max());
  return result;
}

}  // namespace tare
