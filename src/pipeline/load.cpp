#include "pipeline/load.h"

#include "tare/arithmetic.h"
#include "tare/dataset.h"
#include "tare/error.h"
#include "tare/execute.h"
#include "tare/graph.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"
#include "tare/quantize.h"
#include "tare/tensor.h"

#include "base/input_file.h"
#include "lower/forms/forms.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

namespace tare {
namespace {

/// What an input of one integer or truth value is in all samples, such as a sampling rate;
/// nothing where it differs, or where there are more samples than are worth reading for it.
std::optional<Tensor> value_in_all(const Dataset& data, const DatasetInput& input) {
  constexpr std::size_t kMostSamples = 65'536;
  if (is_float(input.dtype) || element_count(input.shape) != 1 || data.size() > kMostSamples) {
    return std::nullopt;
  }
  std::vector<std::int64_t> values;
  const std::size_t at_once = data.has_several_shapes() ? 1 : data.size();
  for (std::size_t first = 0; first < data.size(); first += at_once) {
    const auto some = data.read(input.name, first, at_once).to_int64();
    values.insert(values.end(), some.begin(), some.end());
  }
  if (std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) != values.end()) {
    return std::nullopt;
  }
  return data.read(input.name, 0, 1);
}

/// A graph in the textual form, as it is.
Graph read_text(const std::filesystem::path& path) {
  const std::string text = InputFile(path).contents();
  try {
    return parse(text);
  } catch (Error& error) {
    error.at(path.string());
    throw;
  }
}

Graph load(const std::filesystem::path& path, Numerics numerics, ReadOptions options) {
  if (is_text(path)) {
    return read_text(path);
  }
  if (is_tflite(path)) {
    // As if it had come as a file of ours: importing keeps to the tensors of the file, and
    // leaves changes of layout between them that lowering knows how to run on integers.
    Graph graph = read_tflite(path, numerics);
    if (!is_quantized(graph)) {
      return graph;
    }
    Graph integer = lower_quantized(std::move(graph), {}, Toolkit::builtin());
    return to_qdq(with_tflite_averages(std::move(integer)));
  }
  options.supported_ops = executable_ops();
  options.evaluate = evaluate;
  options.keeps_tail = true;
  return in_float32(read_onnx(path, options));
}

}  // namespace

bool is_tflite(const std::filesystem::path& path) {
  return path.extension() == ".tflite";
}

bool is_text(const std::filesystem::path& path) {
  return path.extension() == ".tir";
}

std::vector<ModelInput> model_inputs(const std::filesystem::path& path,
                                     const std::map<std::string, std::int64_t>& dims) {
  if (is_text(path) || is_tflite(path)) {
    const Graph graph = is_text(path) ? read_text(path) : read_tflite(path);
    std::vector<ModelInput> inputs;
    for (const ValueId id : graph.inputs()) {
      const TensorType& type = graph.type(id);
      inputs.push_back({graph.name(id), type.dtype, type.shape});
    }
    return inputs;
  }
  std::vector<ModelInput> inputs = read_onnx_inputs(path);
  for (ModelInput& input : inputs) {
    for (std::size_t axis = 0; axis < input.symbols.size(); ++axis) {
      if (const auto found = dims.find(input.symbols[axis]);
          !input.symbols[axis].empty() && found != dims.end()) {
        (*input.shape)[axis] = found->second;
      }
    }
  }
  return inputs;
}

std::uintmax_t stored_bytes(const std::filesystem::path& model) {
  std::uintmax_t bytes = std::filesystem::file_size(model);
  if (!is_tflite(model) && !is_text(model)) {
    for (const std::filesystem::path& file : external_files(model)) {
      std::error_code missing;
      const std::uintmax_t beside = std::filesystem::file_size(file, missing);
      bytes += missing ? 0 : beside;
    }
  }
  return bytes;
}

Graph load_model(const std::filesystem::path& path,
                 const std::map<std::string, std::int64_t>& dims, const Dataset* data,
                 Numerics numerics) {
  ReadOptions options;
  options.dims = dims;
  if (data != nullptr) {
    for (const DatasetInput& input : data->inputs()) {
      options.input_shapes.emplace(input.name, input.shape);
      if (auto value = value_in_all(*data, input)) {
        options.input_values.emplace(input.name, *std::move(value));
      }
    }
  }
  return load(path, numerics, std::move(options));
}

Graph load_model(const std::filesystem::path& path,
                 const std::map<std::string, std::int64_t>& dims,
                 const std::map<std::string, Shape>& samples, Numerics numerics) {
  ReadOptions options;
  options.dims = dims;
  options.input_shapes.insert(samples.begin(), samples.end());
  return load(path, numerics, std::move(options));
}

}  // namespace tare
