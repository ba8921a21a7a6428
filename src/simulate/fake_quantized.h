#pragma once

#include "tare/arithmetic.h"
#include "tare/graph.h"
#include "tare/quant_table.h"
#include "tare/simulate.h"
#include "tare/tensor.h"

#include <string>
#include <vector>

namespace tare {

/// The fake-quantized graph, in real values, for trying parameters of activations without
/// building anything again: each point is a FakeQuantize that reads them from a graph input.
struct FakeQuantizedGraph {
  Graph graph;
  std::vector<std::string> points;  ///< of the inputs that follow those of the source, in order
  struct Constant {
    std::string point;
    ValueId value;  ///< of the graph
  };
  std::vector<Constant> constants;  ///< weights and biases
};

/// Weights and biases are as the table says, made by so many threads (0: one per core). Sums of
/// real values overflow no accumulator.
FakeQuantizedGraph fake_quantized_graph(const SimulatedGraph&, const QuantTable&, int threads);
/// What quantization makes of a weight or bias that a point of the table is for.
Tensor after_quantization(const Tensor& constant, const QuantPoint&, const QuantTable&);
/// The input that enables a point with these parameters (per tensor), or disables it, so that
/// values pass.
Tensor enabled_point(const QuantParams&);
Tensor disabled_point();

}  // namespace tare
