#include "support/run.h"

#include "tare/execute.h"

namespace tare::test {

std::vector<Tensor> inputs_of(const Graph& graph, const Dataset& data, std::size_t sample) {
  std::vector<Tensor> inputs;
  for (const ValueId input : graph.inputs()) {
    Tensor read = data.read(graph.name(input), sample, 1);
    const DType wanted = graph.type(input).dtype;
    if (read.dtype() == wanted) {
      inputs.push_back(std::move(read));
    } else {
      inputs.push_back(wanted == DType::kFloat32
                           ? Tensor::of<float>(read.shape(), read.to_float())
                           : Tensor::of<std::int64_t>(read.shape(), read.to_int64()));
    }
  }
  return inputs;
}

Results results_of(const Graph& graph, const Dataset& data, std::size_t samples) {
  const Executable executable(graph);
  Results results;
  for (std::size_t i = 0; i < (samples == 0 ? data.size() : samples); ++i) {
    results.push_back(executable.run(inputs_of(graph, data, i)));
  }
  return results;
}

std::map<std::string, Tensor> values_of(const Graph& graph, const std::vector<Tensor>& inputs,
                                        bool precise) {
  std::vector<ValueId> observed(graph.inputs().begin(), graph.inputs().end());
  for (const NodeId id : graph.nodes()) {
    const std::vector<ValueId>& outputs = graph.node(id).outputs;
    observed.insert(observed.end(), outputs.begin(), outputs.end());
  }
  const Executable executable(graph, {.observe = observed, .precise = precise});
  Executable::Workspace workspace(executable);
  std::map<std::string, Tensor> values;
  (void)executable.run(workspace, inputs, [&](std::size_t index, const TensorView& view) {
    values.emplace(graph.name(observed[index]), view.tensor());
  });
  return values;
}

}  // namespace tare::test
