// Reads the quantization parameters off a value of a parsed graph. Naming the executor makes
// the link pull in what the library itself depends on.
#include <iostream>

#include <tare/execute.h>
#include <tare/graph.h>

int main() {
  const tare::Graph graph = tare::parse(R"(
    graph "consumer" opset 17 (%x : f32[1,8]) -> (%y) {
      %y = Quantize(%x) : u8[1,8] q(0.025, 0)
    })");
  std::cout << to_string(*graph.type(graph.outputs()[0]).quant) << '\n';
  return tare::executable_ops().empty() ? 1 : 0;
}
