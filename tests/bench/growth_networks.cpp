// Networks of any number of nodes, to see how time grows with it; scripts/benchmark_growth.sh
// runs the verbs on them.
// usage: tare_growth_networks KIND NODES FOLDER    writes FOLDER/model.onnx and
// FOLDER/samples.h5
#include "tare/dataset.h"
#include "tare/graph.h"
#include "tare/model_files.h"

#include "random_values.h"

#include <array>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>

namespace tare::bench {
namespace {

constexpr std::int64_t kChannels = 16;
constexpr std::int64_t kExtent = 8;
constexpr std::int64_t kSamples = 8;

TensorType real(Shape shape) {
  return {.dtype = DType::kFloat32, .shape = std::move(shape), .quant = {}, .point = {}};
}

TensorType image(std::int64_t channels = kChannels) {
  return real({1, channels, kExtent, kExtent});
}

/// Different for each node, and such that a Relu behind it leaves values about `gain` times as
/// large as they were.
Tensor weights(std::size_t index, std::int64_t results, float gain) {
  const Shape shape{results, kChannels, 3, 3};
  auto values = random_values(static_cast<std::size_t>(element_count(shape)));
  const float scale = gain * std::sqrt(2 / static_cast<float>(kChannels * 9));
  const auto count = static_cast<std::ptrdiff_t>(values.size());
  std::rotate(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(index) % count,
              values.end());
  for (float& value : values) {
    value *= scale;
  }
  return Tensor::of<float>(shape, values);
}

ValueId add(Graph& graph, const std::string& op, const std::string& name,
            std::vector<ValueId> inputs, TensorType type, Attributes attributes = {}) {
  const NodeId id = graph.add_node(name, op, std::move(inputs), {{name, std::move(type)}},
                                   std::move(attributes));
  return graph.node(id).outputs[0];
}

ValueId convolution(Graph& graph, std::size_t index, ValueId input,
                    std::int64_t results = kChannels, float gain = 1) {
  const std::string name = "conv" + std::to_string(index);
  const ValueId weight = graph.add_constant(name + ".weight", weights(index, results, gain));
  return add(graph, "Conv", name, {input, weight}, image(results),
             {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
}

/// Convolutions with Relu, each reading the one before.
void convolutions(Graph& graph, std::size_t nodes) {
  ValueId value = graph.add_input("x", image());
  for (std::size_t i = 0; i < nodes; ++i) {
    value =
        add(graph, "Relu", "relu" + std::to_string(i), {convolution(graph, i, value)}, image());
  }
  graph.set_outputs({value});
}

/// Convolutions that read one value, joined in the end.
void side_by_side(Graph& graph, std::size_t nodes) {
  const ValueId input = graph.add_input("x", image());
  std::vector<ValueId> parts;
  for (std::size_t i = 0; i < nodes; ++i) {
    parts.push_back(convolution(graph, i, input, 1));
  }
  graph.set_outputs(
      {add(graph, "Concat", "joined", std::move(parts), image(static_cast<std::int64_t>(nodes)),
           {{"axis", std::int64_t{1}}})});
}

/// Operators without weights, each reading the one before; every other one reads also what that
/// one read. Values grow by 1 in four operators at most.
void elementwise(Graph& graph, std::size_t nodes) {
  constexpr std::array kOps{"Tanh", "Add", "Sigmoid", "Mul"};
  ValueId before = graph.add_input("x", image());
  ValueId value = before;
  for (std::size_t i = 0; i < nodes; ++i) {
    std::vector<ValueId> operands{value};
    if (i % 2 == 1) {
      operands.push_back(before);
    }
    before = value;
    value = add(graph, kOps.at(i % kOps.size()), "op" + std::to_string(i), std::move(operands),
                image());
  }
  graph.set_outputs({value});
}

/// Pairs of convolutions around which values pass, as in a ResNet. All pairs together let
/// values grow by a factor of about e.
void residual(Graph& graph, std::size_t nodes) {
  const float gain = 2 / static_cast<float>(nodes);
  ValueId value = graph.add_input("x", image());
  for (std::size_t i = 0; i + 1 < nodes; i += 2) {
    const ValueId first =
        add(graph, "Relu", "relu" + std::to_string(i), {convolution(graph, i, value)}, image());
    const ValueId second = convolution(graph, i + 1, first, kChannels, gain);
    const ValueId sum = add(graph, "Add", "add" + std::to_string(i), {value, second}, image());
    value = add(graph, "Relu", "relu" + std::to_string(i + 1), {sum}, image());
  }
  graph.set_outputs({value});
}

void write_samples(const std::filesystem::path& path) {
  const Shape shape{kSamples, kChannels, kExtent, kExtent};
  DatasetWriter writer(path);
  writer.append("x", Tensor::of<float>(
                         shape, random_values(static_cast<std::size_t>(element_count(shape)))));
  writer.finish();
}

int run(const std::string& kind, std::size_t nodes, const std::filesystem::path& folder) {
  const std::map<std::string, void (*)(Graph&, std::size_t)> kinds{
      {"convolutions", convolutions},
      {"side_by_side", side_by_side},
      {"elementwise", elementwise},
      {"residual", residual}};
  const auto found = kinds.find(kind);
  if (found == kinds.end()) {
    std::cerr << "no kind '" << kind << "'\n";
    return 2;
  }
  Graph graph;
  graph.graph_name = kind;
  found->second(graph, nodes);
  write_onnx(graph, folder / "model.onnx");
  write_samples(folder / "samples.h5");
  return 0;
}

}  // namespace
}  // namespace tare::bench

int main(int count, char** words) {
  if (count != 4) {
    std::cerr << "usage: tare_growth_networks KIND NODES FOLDER\n";
    return 2;
  }
  try {
    return tare::bench::run(words[1], std::stoul(words[2]), words[3]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
