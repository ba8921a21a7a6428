#include "pipeline/load.h"

#include "tare/arithmetic.h"
#include "tare/dataset.h"
#include "tare/execute.h"
#include "tare/graph.h"
#include "tare/integer_graph.h"
#include "tare/model_files.h"
#include "tare/quantize.h"
#include "tare/tensor.h"

#include "lower/forms/forms.h"

namespace tare {

bool is_tflite(const std::filesystem::path& path) {
  return path.extension() == ".tflite";
}

std::uintmax_t stored_bytes(const std::filesystem::path& model) {
  std::uintmax_t bytes = std::filesystem::file_size(model);
  if (!is_tflite(model)) {
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
  std::map<std::string, Shape> samples;
  if (data != nullptr) {
    for (const DatasetInput& input : data->inputs()) {
      samples.emplace(input.name, input.shape);
    }
  }
  return load_model(path, dims, samples, numerics);
}

Graph load_model(const std::filesystem::path& path,
                 const std::map<std::string, std::int64_t>& dims,
                 const std::map<std::string, Shape>& samples, Numerics numerics) {
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
  ReadOptions options;
  options.dims = dims;
  options.supported_ops = executable_ops();
  options.evaluate = evaluate;
  options.input_shapes.insert(samples.begin(), samples.end());
  return read_onnx(path, options);
}

}  // namespace tare
