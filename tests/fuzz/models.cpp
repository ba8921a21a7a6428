#include "fuzz/models.h"

#include "tare/execute.h"

#include "support/files/samples_in_memory.h"
#include "support/random/random.h"

namespace tare::fuzz {

std::int64_t elements(const Graph& graph) {
  std::int64_t sum = 0;
  for (const ValueId value : graph.values()) {
    std::int64_t count = 1;
    for (const std::int64_t extent : graph.type(value).shape) {
      if (__builtin_mul_overflow(count, extent, &count)) {
        return kFew + 1;
      }
    }
    if (count > kFew - sum) {
      return kFew + 1;
    }
    sum += count;
  }
  return sum;
}

void run_once(const Graph& graph) {
  const Executable executable(graph);
  std::vector<Tensor> inputs;
  for (const ValueId input : graph.inputs()) {
    inputs.emplace_back(graph.type(input).dtype, graph.type(input).shape);
  }
  (void)executable.run(inputs);
}

const Graph& small_network() {
  static const Graph network = parse(
      "graph \"small\" opset 17 (%x : f32[batch=1,2,3,3]) -> (%y) {\n"
      "const %w : f32[2,2,2,2] = [1, -2, 0.5, 3, 0.25, 1, 0, -1, 2, 1, -0.5, 1, 4, 0, 1, -3]\n"
      "const %b : f32[2] = [0.5, -1]\n"
      "const %v : f32[8,2] = [1, 0, 2, -1, 0.5, 3, 1, 1, -2, 0.125, 1, 5, -1, -1, 2, 1]\n"
      "conv: %c = Conv(%x, %w, %b) : f32[1,2,2,2]\n"
      "relu: %r = Relu(%c) : f32[1,2,2,2]\n"
      "sum: %s = Add(%r, %c) : f32[1,2,2,2]\n"
      "flat: %f = Flatten(%s) {axis=1} : f32[1,8]\n"
      "dense: %y = MatMul(%f, %v) : f32[1,2]\n"
      "}\n");
  return network;
}

const Dataset& small_samples() {
  static const test::SamplesInMemory samples({{"x", test::Random(1).tensor({6, 2, 3, 3})}});
  return samples;
}

}  // namespace tare::fuzz
