// Products per second of the convolutions that most of the time of image networks goes into.
#include "tare/execute.h"
#include "tare/graph.h"

#include "random_values.h"

#include <benchmark/benchmark.h>

namespace tare::bench {
namespace {

struct Layer {
  const char* name;
  std::int64_t channels;
  std::int64_t extent;
  std::int64_t kernel;
  std::int64_t groups;
};
constexpr Layer kLayers[] = {{"pointwise 96x56", 96, 56, 1, 1},
                             {"pointwise 384x14", 384, 14, 1, 1},
                             {"3x3 64x28", 64, 28, 3, 1},
                             {"depthwise 192x28", 192, 28, 3, 192}};

void convolve(benchmark::State& state, const Layer& layer, bool precise) {
  const Shape shape{1, layer.channels, layer.extent, layer.extent};
  const Shape weights{layer.channels, layer.channels / layer.groups, layer.kernel,
                      layer.kernel};
  const auto tensor = [](const Shape& of) {
    return Tensor::of<float>(of, random_values(static_cast<std::size_t>(element_count(of))));
  };
  const TensorType type{.dtype = DType::kFloat32, .shape = shape, .quant = {}, .point = {}};
  const std::int64_t pad = layer.kernel / 2;
  Graph graph;
  const ValueId x = graph.add_input("x", type);
  const NodeId conv =
      graph.add_node("conv", "Conv",
                     {x, graph.add_constant("w", tensor(weights)),
                      graph.add_constant("b", tensor({layer.channels}))},
                     {{"y", type}},
                     {{"group", layer.groups},
                      {"pads", std::vector<std::int64_t>{pad, pad, pad, pad}},
                      {"kernel_shape", std::vector<std::int64_t>{layer.kernel, layer.kernel}}});
  graph.set_outputs(graph.node(conv).outputs);
  const Executable executable(graph, {.observe = {}, .precise = precise});
  Executable::Workspace workspace(executable);
  const std::vector<Tensor> inputs{tensor(shape)};
  for (auto _ : state) {
    benchmark::DoNotOptimize(executable.run(workspace, inputs));
  }
  const std::int64_t products = element_count(shape) * weights[1] * weights[2] * weights[3];
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * products);
}

[[maybe_unused]] const bool registered = [] {
  for (const Layer& layer : kLayers) {
    for (const bool precise : {false, true}) {
      benchmark::RegisterBenchmark(
          (std::string(layer.name) + (precise ? " precise" : "")).c_str(),
          [&layer, precise](benchmark::State& state) { convolve(state, layer, precise); });
    }
  }
  return true;
}();

}  // namespace
}  // namespace tare::bench
