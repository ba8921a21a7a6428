#include "onnxruntime_cases.h"

#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>

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

}  // namespace

std::vector<OnnxRuntimeOutputs> run_cases(const OnnxRuntimeProcess& process,
                                          std::span<const OnnxRuntimeCase> cases,
                                          const std::filesystem::path& folder) {
  nlohmann::json list = nlohmann::json::array();
  for (const OnnxRuntimeCase& each : cases) {
    nlohmann::json samples = nlohmann::json::array();
    for (const Tensors& sample : each.samples) {
      nlohmann::json inputs = nlohmann::json::object();
      for (const auto& [name, tensor] : sample) {
        inputs[name] = written(tensor);
      }
      samples.push_back(std::move(inputs));
    }
    list.push_back({{"model", each.model.string()},
                    {"samples", std::move(samples)},
                    {"state", nlohmann::json(each.state)}});
    if (each.state.empty()) {
      list.back()["state"] = nlohmann::json::object();
    }
  }
  const std::filesystem::path file = folder / "cases.json";
  std::ofstream(file) << list.dump();
  std::istringstream lines(process.script("cases.mjs", file));
  std::vector<OnnxRuntimeOutputs> results;
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json printed = nlohmann::json::parse(line);
    OnnxRuntimeOutputs& outputs = results.emplace_back();
    if (printed.is_object()) {
      outputs.error = printed.at("error");
      continue;
    }
    for (const nlohmann::json& sample : printed) {
      Tensors& tensors = outputs.samples.emplace_back();
      for (const auto& [name, tensor] : sample.items()) {
        tensors.emplace(name, read(tensor));
      }
    }
  }
  if (results.size() != cases.size()) {
    throw std::runtime_error("ONNX Runtime ended after " + std::to_string(results.size()) +
                             " of " + std::to_string(cases.size()) + " models");
  }
  return results;
}

}  // namespace tare::test
