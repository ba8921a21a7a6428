// Files of statistics, and what is made of them.
#include "tare/statistics.h"

#include "tare/execute.h"
#include "tare/quantize.h"
#include "tare/simulate.h"

#include "fuzz/models.h"
#include "fuzz/scratch.h"
#include "fuzz/target.h"
#include "support/graphs.h"

namespace tare::fuzz {
namespace {

const Graph& network() {
  static const Graph graph = parse(
      "graph \"one\" opset 17 (%x : f32[1,2]) -> (%y) {\n"
      "const %w : f32[2,2] = [1, -2, 0.5, 3]\n"
      "%y = MatMul(%x, %w) : f32[1,2]\n"
      "}\n");
  return graph;
}

const SimulatedGraph& simulated() {
  static const SimulatedGraph graph = simulate_all(network(), {}, Toolkit::builtin());
  return graph;
}

const Statistics& some() {
  static const Statistics statistics = [] {
    Statistics result;
    result.model = model_digest(simulated().source);
    result.data = 7;
    result.samples = 3;
    result.inputs = {{"x", {2}}};
    const TensorType type = test::f32({1, 2});
    for (const auto& sample :
         std::vector<std::vector<float>>{{-1, 0}, {0.25F, 3}, {1e-20F, 100}}) {
      result.values["x"].observe(sample);
      result.channels["x"].observe({&type, std::as_bytes(std::span(sample)).data(), false});
    }
    return result;
  }();
  return statistics;
}

File written(const Statistics& statistics, const char* name) {
  write_statistics(Scratch::path(name), statistics);
  return Scratch::read(Scratch::path(name));
}

std::vector<File> seeds() {
  Statistics without = some();
  without.channels.clear();
  return {written(some(), "seed.h5"), written(without, "seed.h5"), written({}, "seed.h5")};
}

void run(Bytes bytes) {
  const Statistics statistics =
      read_statistics(Scratch::write("statistics.h5", bytes), {.trial_in_child = true});
  const File first = must("writing", [&] { return written(statistics, "first.h5"); });
  const Statistics again = must("reading what was written",
                                [&] { return read_statistics(Scratch::path("first.h5")); });
  require(again == statistics, "not read back as written");
  require(written(again, "second.h5") == first, "other bytes the second time");

  Statistics twice = statistics;
  must("adding them to themselves", [&] { merge(statistics, twice); });
  for (const char* calibrator : {"max", "mse", "kl", "percentile", "aciq"}) {
    Config config;
    config.activations.calibrator.name = calibrator;
    (void)quantize(network(), statistics, config, Toolkit::builtin());
    (void)quantize(network(), twice, config, Toolkit::builtin());
  }
  Statistics more = some();
  merge(statistics, more);
  (void)quantize(network(), more, {}, Toolkit::builtin());
}

}  // namespace

FuzzTarget fuzz_statistics() {
  return {"statistics", seeds, run};
}

}  // namespace tare::fuzz
