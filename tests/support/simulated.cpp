#include "support/simulated.h"

#include "tare/quantize.h"

namespace tare::test {

SimulatedGraph simulated_with(const Graph& graph, const Config& config) {
  return simulate(graph, config, read_target(config.target), Toolkit::builtin().patterns);
}

}  // namespace tare::test
