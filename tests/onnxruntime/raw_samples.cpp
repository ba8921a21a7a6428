#include "raw_samples.h"

#include <algorithm>
#include <fstream>
#include <map>

#include <nlohmann/json.hpp>

namespace tare::test {
namespace {

const std::map<DType, std::string>& onnxruntime_types() {
  static const std::map<DType, std::string> names{
      {DType::kFloat32, "float32"}, {DType::kInt64, "int64"}, {DType::kInt32, "int32"},
      {DType::kUint8, "uint8"},     {DType::kInt8, "int8"},   {DType::kBool, "bool"}};
  return names;
}

}  // namespace

std::filesystem::path write_raw_samples(const Graph& graph, const Dataset& data,
                                        std::size_t samples,
                                        const std::filesystem::path& folder) {
  const std::size_t count = samples == 0 ? data.size() : std::min(samples, data.size());
  nlohmann::json spec;
  spec["samples"] = count;
  spec["inputs"] = nlohmann::json::array();
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    const ValueId input = graph.inputs()[i];
    const TensorType& type = graph.type(input);
    const std::string file = "input" + std::to_string(i) + ".bin";
    std::ofstream out(folder / file, std::ios::binary);
    for (std::size_t sample = 0; sample < count; ++sample) {
      Tensor tensor = data.read(graph.name(input), sample, 1);
      if (tensor.dtype() != type.dtype) {
        tensor = type.dtype == DType::kFloat32
                     ? Tensor::of<float>(tensor.shape(), tensor.to_float())
                     : Tensor::of<std::int64_t>(tensor.shape(), tensor.to_int64());
      }
      out.write(reinterpret_cast<const char*>(tensor.data()),
                static_cast<std::streamsize>(tensor.byte_size()));
    }
    spec["inputs"].push_back({{"name", graph.name(input)},
                              {"type", onnxruntime_types().at(type.dtype)},
                              {"dims", type.shape},
                              {"file", file}});
  }
  std::ofstream(folder / "SPEC.json") << spec.dump(2);
  return folder / "SPEC.json";
}

}  // namespace tare::test
