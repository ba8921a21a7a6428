#include "tflite/golden.h"

#include "tare/execute.h"
#include "tare/integer_graph.h"
#include "tare/quantize.h"

#include "graph/operators/permute.h"
#include "tflite/import.h"
#include "tflite/npz.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace tare::test {
namespace {

namespace fs = std::filesystem;

fs::path folder() {
  const char* given = std::getenv("TARE_SHARED");
  const fs::path shared =
      given != nullptr ? fs::path(given) : fs::path(TARE_SOURCE_DIR) / "../shared";
  return shared / "tflite";
}

std::vector<Golden> listed(const fs::path& models, const fs::path& arrays) {
  std::vector<Golden> result;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(models, missing)) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".tflite") {
      result.push_back(
          {name, entry.path(), arrays / (name + ".npz"), arrays / (name + ".layers.npz")});
    }
  }
  std::sort(result.begin(), result.end(),
            [](const Golden& a, const Golden& b) { return a.name < b.name; });
  return result;
}

/// The tensor with the elements of `value` in the file's order; nothing when it is something
/// else. Outputs of a graph are in that order.
std::optional<Tensor> in_file_order(const Tensor& value, const Shape& shape, bool is_output) {
  // Cubes are taken for images inside of a network.
  if (!is_output && shape.size() == 4 && value.shape() == permuted(shape, {0, 3, 1, 2})) {
    return permuted(value, {0, 2, 3, 1});
  }
  return value.shape() == shape ? std::optional(value) : std::nullopt;
}

}  // namespace

std::vector<Golden> golden_networks() {
  return listed(folder() / "models", folder() / "golden");
}

std::vector<Golden> golden_operators() {
  return listed(folder() / "synth", folder() / "synth");
}

std::vector<GoldenRun> golden_runs(const Golden& golden, const tflite::ModelFile& file,
                                   const std::string& runtime) {
  const std::map<std::string, Tensor> arrays = read_npz(golden.arrays);
  std::vector<GoldenRun> runs;
  for (int k = 0;; ++k) {
    const std::string number = std::to_string(k);
    GoldenRun run;
    for (const int input : file.inputs) {
      const std::string& name = file.tensors[static_cast<std::size_t>(input)].name;
      // A tensor without a name is there by its index.
      for (const std::string& key : {"/" + name, "_" + name, "/" + std::to_string(input)}) {
        const auto found = arrays.find("in" + number + key);
        if (found != arrays.end()) {
          run.inputs.emplace(input, found->second);
        }
      }
    }
    for (const int output : file.outputs) {
      for (const std::string& key :
           {runtime + number + "/" + std::to_string(output), runtime + number}) {
        const auto found = arrays.find(key);
        if (found != arrays.end()) {
          run.results.emplace(output, found->second);
        }
      }
    }
    if (run.inputs.size() != file.inputs.size() || run.results.empty()) {
      return runs;
    }
    runs.push_back(std::move(run));
  }
}

SamplesInMemory samples_of(const tflite::ModelFile& file, const std::vector<GoldenRun>& runs) {
  std::map<std::string, Tensor> inputs;
  for (const int input : file.inputs) {
    const auto& tensor = file.tensors[static_cast<std::size_t>(input)];
    Shape shape = tensor.type.shape;
    shape[0] *= static_cast<std::int64_t>(runs.size());
    Tensor all(tensor.type.dtype, shape);
    std::byte* to = all.mutable_data();
    for (const GoldenRun& run : runs) {
      const Tensor& one = run.inputs.at(input);
      to = std::copy(one.data(), one.data() + one.byte_size(), to);
    }
    inputs.emplace(tensor.name, std::move(all));
  }
  return SamplesInMemory(std::move(inputs));
}

std::map<int, Tensor> golden_layers(const Golden& golden, const std::string& runtime) {
  std::map<int, Tensor> result;
  if (!fs::exists(golden.layers)) {
    return result;
  }
  const std::string prefix = runtime + "/";
  for (auto& [key, tensor] : read_npz(golden.layers)) {
    if (key.starts_with(prefix)) {
      result.emplace(std::stoi(key.substr(prefix.size())), tensor);
    }
  }
  return result;
}

Graph integer_graph(const tflite::ModelFile& file, Numerics numerics) {
  const Graph integer =
      lower_quantized(tflite::import_model(file, numerics), {}, Toolkit::builtin());
  return with_numerics(with_tflite_averages(integer), numerics);
}

Graph integer_graph(const tflite::ModelFile& file, const Target& target) {
  return for_target(integer_graph(file, Numerics::kOnnxRuntime), target);
}

void keep_operator(tflite::ModelFile& file, std::size_t index) {
  const tflite::FileOperator kept = file.operators[index];
  file.inputs.clear();
  for (const int input : kept.inputs) {
    const bool is_new =
        std::find(file.inputs.begin(), file.inputs.end(), input) == file.inputs.end();
    if (input < 0 || !is_new) {
      continue;
    }
    const auto& tensor = file.tensors[static_cast<std::size_t>(input)];
    if (!tensor.constant && !tensor.is_variable) {
      file.inputs.push_back(input);
    }
  }
  file.outputs = kept.outputs;
  file.operators = {kept};
}

std::map<int, Tensor> tensors_of(const Graph& integer, const tflite::ModelFile& file,
                                 const std::map<int, Tensor>& inputs) {
  std::vector<ValueId> observed;
  std::vector<int> tensor_of;
  const auto observe = [&](ValueId value, int tensor) {
    observed.push_back(value);
    tensor_of.push_back(tensor);
  };
  std::vector<ValueId> results;
  for (const NodeId node : integer.topological_order()) {
    const auto& outputs = integer.node(node).outputs;
    results.insert(results.end(), outputs.begin(), outputs.end());
  }
  for (std::size_t i = 0; i < file.tensors.size(); ++i) {
    const std::string& name = file.tensors[i].name;
    for (const ValueId value : results) {
      const TensorType& type = integer.type(value);
      if (type.quant ? type.point == name : integer.name(value) == name) {
        observe(value, static_cast<int>(i));
      }
    }
  }
  std::vector<Tensor> operands;
  for (const int input : file.inputs) {
    operands.push_back(
        inputs.at(input).reshaped(file.tensors[static_cast<std::size_t>(input)].type.shape));
  }
  // Of values that one tensor passes through, the last one of its shape is what it becomes.
  std::map<int, Tensor> tensors;
  const Executable executable(integer, {.observe = observed});
  Executable::Workspace workspace(executable);
  (void)executable.run(workspace, operands, [&](std::size_t i, const TensorView& view) {
    const auto& type = file.tensors[static_cast<std::size_t>(tensor_of[i])].type;
    const bool is_output = integer.is_output(observed[i]);
    if (const auto tensor = in_file_order(view.tensor(), type.shape, is_output)) {
      tensors.insert_or_assign(tensor_of[i], *tensor);
    }
  });
  return tensors;
}

Apart& Apart::operator+=(const Apart& other) {
  elements += other.elements;
  different += other.different;
  most = std::max(most, other.most);
  return *this;
}

Apart apart(const Tensor& a, const Tensor& b) {
  Apart result{static_cast<std::size_t>(a.size()), 0, 0};
  if (a.size() != b.size()) {
    return {result.elements, result.elements, std::numeric_limits<double>::infinity()};
  }
  const auto x = a.to_double();
  const auto y = b.to_double();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double difference = std::abs(x[i] - y[i]);
    result.different += difference != 0 ? 1 : 0;
    result.most = std::max(result.most, difference);
  }
  return result;
}

}  // namespace tare::test
