#include "onnx/interface.h"

#include "onnx/tensor_proto.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

namespace tare {
namespace {

using Names = std::vector<std::string>;

/// A dimension of the file: an extent, or the name of a symbol.
struct Dimension {
  std::optional<std::int64_t> extent;
  std::string symbol;
};

/// Nothing when not even the rank is known.
using Dimensions = std::optional<std::vector<Dimension>>;

struct Input {
  std::string name;
  DType dtype = DType::kFloat32;
  Dimensions dimensions;
};

/// Exporters write "?" or "None" for whatever they do not know, which makes no two extents
/// equal.
bool is_name(const std::string& symbol) {
  return symbol != "None" && std::any_of(symbol.begin(), symbol.end(),
                                         [](unsigned char c) { return std::isalpha(c) != 0; });
}

/// Extents below 0 are unknown ones to some exporters.
Dimensions dimensions_of(const onnx::ValueInfoProto& info) {
  if (!info.type().tensor_type().has_shape()) {
    return std::nullopt;
  }
  std::vector<Dimension> result;
  for (const auto& dim : info.type().tensor_type().shape().dim()) {
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
      result.push_back({dim.dim_value(), {}});
    } else {
      result.push_back({std::nullopt, is_name(dim.dim_param())
                                          ? dim.dim_param()
                                          : dimension_symbol(info.name(), result.size())});
    }
  }
  return result;
}

Names symbols_of(const std::vector<Dimension>& dimensions) {
  Names names;
  for (const Dimension& dimension : dimensions) {
    names.push_back(dimension.symbol);
  }
  return names;
}

bool has_symbol(const Names& names) {
  return std::any_of(names.begin(), names.end(), [](const auto& n) { return !n.empty(); });
}

class Binder {
 public:
  Binder(const ReadOptions& options, Faults& faults)
      : options_(options), faults_(faults), extents_(options.dims) {}

  /// An input without a shape takes the one of its samples.
  void bind_samples(Input& input) {
    const auto found = options_.input_shapes.find(input.name);
    if (found == options_.input_shapes.end()) {
      return;
    }
    const Shape& sample = found->second;
    if (!input.dimensions) {
      input.dimensions.emplace();
      for (std::size_t axis = 0; axis <= sample.size(); ++axis) {
        input.dimensions->push_back({std::nullopt, dimension_symbol(input.name, axis)});
      }
    }
    if (input.dimensions->empty()) {  // one number for each run
      if (!sample.empty()) {
        faults_.add(where(input), "its samples have shape " + to_string(sample),
                    "single numbers");
      }
      return;
    }
    // Samples are rows of the input, whose first axis is the batch, or each a whole input.
    const std::size_t rank = input.dimensions->size();
    const std::size_t first = sample.size() == rank ? 0 : 1;
    if (sample.size() + first != rank) {
      faults_.add(where(input), "its samples have shape " + to_string(sample),
                  "rank " + std::to_string(rank - 1) + ", or " + std::to_string(rank) +
                      " for whole inputs");
      return;
    }
    for (std::size_t axis = first; axis < rank; ++axis) {
      const Dimension& dimension = (*input.dimensions)[axis];
      if (dimension.extent) {
        continue;
      }
      const auto [bound, fresh] = extents_.emplace(dimension.symbol, sample[axis - first]);
      if (!fresh && bound->second != sample[axis - first]) {
        faults_.add(where(input),
                    "dimension '" + dimension.symbol + "' is " +
                        std::to_string(sample[axis - first]) + " in its samples",
                    std::to_string(bound->second) + " as elsewhere");
      }
    }
  }

  void bind_batch(const Input& input) {
    if (input.dimensions && !input.dimensions->empty() && !input.dimensions->front().extent) {
      extents_.emplace(input.dimensions->front().symbol, 1);
    }
  }

  std::optional<Shape> shape_of(const Input& input) {
    if (!input.dimensions) {
      faults_.add(where(input), "has no shape", "one in the model, or that of its samples");
      return std::nullopt;
    }
    Shape shape;
    bool bound = true;
    for (std::size_t axis = 0; axis < input.dimensions->size(); ++axis) {
      const Dimension& dimension = (*input.dimensions)[axis];
      const auto found = extents_.find(dimension.symbol);
      if (!dimension.extent && found == extents_.end()) {
        faults_.add(
            where(input),
            "dimension " + std::to_string(axis) + " ('" + dimension.symbol + "') is dynamic",
            "an extent given for it");
        bound = false;
        continue;
      }
      shape.push_back(dimension.extent ? *dimension.extent : found->second);
    }
    if (bound && !is_addressable(shape)) {
      faults_.add(where(input), "has shape " + to_string(shape));
      bound = false;
    }
    return bound ? std::optional(shape) : std::nullopt;
  }

  static std::string where(const Input& input) { return "input '" + input.name + "'"; }

 private:
  const ReadOptions& options_;
  Faults& faults_;
  std::map<std::string, std::int64_t> extents_;
};

std::vector<Input> declared_inputs(const onnx::GraphProto& graph,
                                   const std::set<std::string>& initializers, Faults& faults) {
  std::vector<Input> inputs;
  for (const auto& info : graph.input()) {
    if (initializers.contains(info.name())) {
      continue;
    }
    const std::string where = "input '" + info.name() + "'";
    if (!info.type().has_tensor_type()) {
      faults.add(where, "is not a tensor");
      continue;
    }
    try {
      const DType dtype = required_dtype(info.type().tensor_type().elem_type());
      inputs.push_back({info.name(), dtype, dimensions_of(info)});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnsupported) {
        throw;
      }
      faults.add(where, error.faults().front().what);
    }
  }
  return inputs;
}

}  // namespace

std::string dimension_symbol(const std::string& value, std::size_t axis) {
  return value + "_dim" + std::to_string(axis);
}

std::vector<ModelInput> declared_model_inputs(const onnx::GraphProto& graph) {
  std::set<std::string> initializers;
  for (const auto& initializer : graph.initializer()) {
    initializers.insert(initializer.name());
  }
  for (const auto& initializer : graph.sparse_initializer()) {
    initializers.insert(initializer.values().name());
  }
  Faults faults;
  std::vector<ModelInput> result;
  for (const Input& input : declared_inputs(graph, initializers, faults)) {
    ModelInput& made = result.emplace_back(ModelInput{input.name, input.dtype, std::nullopt});
    if (input.dimensions) {
      made.shape.emplace();
      for (const Dimension& dimension : *input.dimensions) {
        made.shape->push_back(dimension.extent.value_or(-1));
        made.symbols.push_back(dimension.symbol);
      }
    }
  }
  faults.raise(ErrorCode::kUnsupported);
  return result;
}

Interface read_interface(const onnx::GraphProto& graph,
                         const std::set<std::string>& initializers, const ReadOptions& options,
                         Faults& faults) {
  Interface result;
  std::vector<Input> inputs = declared_inputs(graph, initializers, faults);
  Binder binder(options, faults);
  for (Input& input : inputs) {
    binder.bind_samples(input);
  }
  for (const Input& input : inputs) {
    binder.bind_batch(input);
  }
  const auto note = [&](const std::string& name, const Dimensions& dimensions) {
    Names names = symbols_of(dimensions.value_or(std::vector<Dimension>{}));
    if (has_symbol(names)) {
      result.dimension_names.emplace(name, std::move(names));
    }
  };
  for (const Input& input : inputs) {
    if (auto shape = binder.shape_of(input)) {
      result.inputs.emplace_back(
          input.name,
          TensorType{
              .dtype = input.dtype, .shape = *std::move(shape), .quant = {}, .point = {}});
      note(input.name, input.dimensions);
    }
  }
  for (const auto& info : graph.output()) {
    note(info.name(), dimensions_of(info));
  }
  return result;
}

}  // namespace tare
