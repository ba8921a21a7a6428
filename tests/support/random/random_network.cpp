#include "support/random/random_network.h"

#include "support/graphs.h"

#include <map>
#include <string>
#include <utility>

namespace tare::test {

Graph random_network(Random& random, int nodes) {
  constexpr std::int64_t kChannels = 5;
  const Shape shape{1, kChannels, 8, 8};
  Graph graph;
  std::vector<ValueId> values{graph.add_input("x", f32(shape)),
                              graph.add_input("y", f32(shape))};
  const auto constant = [&](Shape extents) {
    return graph.add_constant(graph.unique_name("c"), random.tensor(std::move(extents)));
  };
  const auto any = [&] {  // recent ones more often, so that chains come up
    const auto last = static_cast<std::int64_t>(values.size()) - 1;
    return values[static_cast<std::size_t>(random.coin() ? last : random.integer(0, last))];
  };
  for (int i = 0; i < nodes; ++i) {
    const ValueId x = any();
    switch (random.integer(0, 6)) {
      case 0:
        values.push_back(add(graph, "Conv", {x, constant({kChannels, kChannels, 3, 3})}, shape,
                             {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}}));
        break;
      case 1:
        values.push_back(
            add(graph, "Conv", {x, constant({kChannels, kChannels, 1, 1})}, shape));
        break;
      case 2:
        values.push_back(add(graph, "Relu", {x}, shape));
        break;
      case 3:
        values.push_back(add(graph, "Add", {x, any()}, shape));
        break;
      case 4:
        values.push_back(add(graph, "MaxPool", {x}, shape,
                             {{"kernel_shape", std::vector<std::int64_t>{3, 3}},
                              {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}}));
        break;
      case 5:
        values.push_back(add(graph, "MatMul", {x, constant({8, 8})}, shape));
        break;
      default: {
        const ValueId mean = add(graph, "GlobalAveragePool", {x}, {1, kChannels, 1, 1});
        values.push_back(add(graph, "Mul", {x, mean}, shape));
      }
    }
  }
  graph.set_outputs({values.back(), values[values.size() / 2]});
  return graph;
}

std::vector<Tensor> random_inputs(const Graph& graph, Random& random) {
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs()) {
    inputs.push_back(random.tensor(graph.type(id).shape));
  }
  return inputs;
}

SamplesInMemory random_samples(const Graph& graph, std::int64_t count, Random& random) {
  std::map<std::string, Tensor> samples;
  for (const ValueId input : graph.inputs()) {
    Shape shape = graph.type(input).shape;
    shape.at(0) = count;
    samples.emplace(graph.name(input), random.tensor(shape));
  }
  return SamplesInMemory(samples);
}

}  // namespace tare::test
