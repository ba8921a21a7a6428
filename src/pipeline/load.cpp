#include "tare/pipeline.h"

namespace tare {

Graph load_model(const std::filesystem::path& path,
                 const std::map<std::string, std::int64_t>& dims, const Dataset* data) {
  ReadOptions options;
  options.dims = dims;
  options.supported_ops = executable_ops();
  options.evaluate = evaluate;
  if (data != nullptr) {
    for (const DatasetInput& input : data->inputs()) {
      options.input_shapes.emplace(input.name, input.shape);
    }
  }
  return read_onnx(path, options);
}

}  // namespace tare
