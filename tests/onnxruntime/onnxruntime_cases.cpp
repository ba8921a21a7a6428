#include "onnxruntime_cases.h"

#include <fstream>
#include <limits>
#include <sstream>

#include <nlohmann/json.hpp>

namespace tare::test {
namespace {

nlohmann::json written(const Tensor& tensor) {
  const bool is_float = tensor.dtype() == DType::kFloat32;
  nlohmann::json result{{"type", is_float ? "float32" : "int64"}, {"dims", tensor.shape()}};
  if (is_float) {
    result["data"] = tensor.to_float();
  } else {
    result["data"] = tensor.to_int64();
  }
  return result;
}

Tensor read(const nlohmann::json& json) {
  std::vector<float> values;
  for (const nlohmann::json& value : json.at("data")) {
    values.push_back(value.is_null() ? std::numeric_limits<float>::quiet_NaN()
                                     : value.get<float>());
  }
  return Tensor::of<float>(json.at("dims").get<Shape>(), values);
}

nlohmann::json written(const OnnxRuntimeCase& each) {
  nlohmann::json samples = nlohmann::json::array();
  for (const Tensors& sample : each.samples) {
    nlohmann::json inputs = nlohmann::json::object();
    for (const auto& [name, tensor] : sample) {
      inputs[name] = written(tensor);
    }
    samples.push_back(std::move(inputs));
  }
  nlohmann::json state = nlohmann::json::object();
  for (const auto& [input, output] : each.state) {
    state[input] = output;
  }
  return {{"model", each.model.string()},
          {"samples", samples},
          {"state", state},
          {"merges_roundings", each.merges_roundings}};
}

OnnxRuntimeOutputs read_line(const std::string& line) {
  const nlohmann::json printed = nlohmann::json::parse(line);
  OnnxRuntimeOutputs outputs;
  if (printed.is_object()) {
    outputs.error = printed.at("error");
    return outputs;
  }
  for (const nlohmann::json& sample : printed) {
    Tensors& tensors = outputs.samples.emplace_back();
    for (const auto& [name, tensor] : sample.items()) {
      tensors.emplace(name, read(tensor));
    }
  }
  return outputs;
}

}  // namespace

std::vector<OnnxRuntimeOutputs> run_cases(const OnnxRuntimeProcess& process,
                                          std::span<const OnnxRuntimeCase> cases,
                                          const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "cases.json";
  std::vector<OnnxRuntimeOutputs> results;
  while (results.size() < cases.size()) {
    nlohmann::json rest = nlohmann::json::array();
    for (const OnnxRuntimeCase& each : cases.subspan(results.size())) {
      rest.push_back(written(each));
    }
    std::ofstream(file) << rest.dump();
    std::istringstream lines(process.script("cases.mjs", file));
    for (std::string line; std::getline(lines, line);) {
      results.push_back(read_line(line));
    }
    if (results.size() < cases.size()) {
      results.emplace_back().error = "ONNX Runtime ended without an answer";
    }
  }
  return results;
}

}  // namespace tare::test
