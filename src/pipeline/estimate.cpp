// Quantizing runs the network, rounds its weights and moves them about. How fast this machine
// runs it is measured. How often, and what the rest costs beside that, was fitted to what 25
// networks took, see docs/scaling.md.
//
// Cost: half a second, or one run of the network, and one pass over the graph.
#include "tare/execute.h"
#include "tare/quantize.h"

#include "base/parallel.h"
#include "base/shared_memory.h"
#include "calibrate/sequential/activation_cache.h"
#include "execute/run/feed.h"
#include "graph/operators/product.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace tare {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Of one run on one thread.
double seconds_of_run(const Executable& executable, const Feed& feed) {
  constexpr double kEnough = 0.5;
  constexpr std::size_t kMostRuns = 200;
  Executable::Workspace workspace(executable);
  (void)executable.run(workspace, feed.read(0));  // pages are touched, caches are warm
  double total = 0;
  std::size_t runs = 0;
  while (runs == 0 || (total < kEnough && runs < kMostRuns)) {
    const std::vector<Tensor> inputs = feed.read(runs % feed.runs());
    const auto start = Clock::now();
    (void)executable.run(workspace, inputs);
    total += seconds_since(start);
    ++runs;
  }
  return total / static_cast<double>(runs);
}

struct Sizes {
  double nodes = 0;
  double multiplications = 0;  ///< of one run
  double elements = 0;         ///< of all values of one run
  double weights = 0;          ///< elements of float constants
  double rounding = 0;         ///< multiplications that GPTQ takes for them
  double largest_live = 0;     ///< bytes of activations that are needed at once, of one run
};

/// docs/scaling.md has the formula, of Frantar et al., "GPTQ", 2022, in blocks.
double rounding_of(const Graph& graph, const Node& node) {
  const Tensor* const weights =
      node.inputs.size() > 1 && node.inputs[1] ? graph.constant(node.inputs[1]) : nullptr;
  if (!is_product(node) || weights == nullptr || weights->shape().size() < 2) {
    return 0;
  }
  const WeightLayout layout = weight_layout(node, weights->shape().size());
  const auto outputs = static_cast<double>(weights->shape()[layout.output]);
  const double columns = static_cast<double>(weights->size()) / outputs;
  constexpr double kBlock = 1024;
  return 2 * columns * std::min(columns, kBlock) * (3 * columns + 4 * outputs);
}

Sizes sizes_of(const Graph& graph) {
  Sizes sizes;
  const std::vector<NodeId> order = graph.topological_order();
  std::map<ValueId, std::size_t> last_read;
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const ValueId input : graph.node(order[i]).inputs) {
      last_read[input] = i;
    }
  }
  const auto bytes = [&](ValueId value) {
    const TensorType& type = graph.type(value);
    return static_cast<double>(element_count(type.shape)) *
           static_cast<double>(size_of(type.dtype));
  };
  double live = 0;
  std::map<std::size_t, double> freed;  // behind which node how much
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Node& node = graph.node(order[i]);
    sizes.rounding += rounding_of(graph, node);
    const auto free_read = [&] { live -= std::exchange(freed[i], 0.0); };
    if (!is_product(node)) {
      free_read();  // what is computed element by element is folded into what comes before
    }
    for (const ValueId output : node.outputs) {
      sizes.elements += static_cast<double>(element_count(graph.type(output).shape));
      if (const auto last = last_read.find(output); last != last_read.end()) {
        live += bytes(output);
        freed[last->second] += bytes(output);
      }
    }
    sizes.largest_live = std::max(sizes.largest_live, live);
    free_read();
  }
  sizes.nodes = static_cast<double>(order.size());
  sizes.multiplications = multiplications(graph);
  for (const ValueId value : graph.values()) {
    const Tensor* const constant = graph.constant(value);
    if (constant != nullptr && constant->dtype() == DType::kFloat32) {
      sizes.weights += static_cast<double>(constant->size());
    }
  }
  return sizes;
}

std::map<Effort, double> seconds_of(double run, double runs, const Sizes& sizes, int threads) {
  constexpr double kOfElement = 1e-9;      // seconds: observed, and kept for what comes next
  constexpr double kOfWeight = 3e-8;       // seconds: read, quantized, packed and written
  constexpr double kOfProducts = 1.5;      // the speed of rounding, beside that of the network
  constexpr double kLeastSpeed = 1e10;     // multiplications of products per second
  constexpr double kRunsOfSchedule = 1.3;  // of each sample: in float, quantized, with errors
  constexpr double kTrials = 48;           // runs for equalization and ranges, or all
  constexpr double kFewTrials = 32;        // of a large network
  constexpr double kVerdict = 16;          // runs of the networks that the summary compares
  // Each point is tried in several runs of half the network, or one run of a large one, and
  // half of the nodes have one.
  constexpr double kLarge = 4e9;
  const bool is_large = sizes.multiplications > kLarge;
  const double sensitivities = sizes.nodes / 4 * (is_large ? 1 : 2);
  constexpr double kStart = 0.07;
  constexpr double kBest = 20;  // times as long: 1 to 25 of small networks, 3 of large ones
  const double observed = run + kOfElement * sizes.elements;
  const double verdict = std::min(kVerdict, 3 * runs);
  const double always = observed * verdict + kOfWeight * sizes.weights;
  const double speed = std::max(sizes.multiplications / run, kLeastSpeed);
  const double rounding = sizes.rounding / (kOfProducts * speed);
  const auto wall = [&](double cpu) { return kStart + cpu / threads; };
  const double fast = wall(observed * runs + always);
  const double usual =
      wall(observed * (kRunsOfSchedule * runs +
                       std::min(is_large ? kFewTrials : kTrials, runs) + sensitivities) +
           rounding + always);
  return {{Effort::kFast, fast}, {Effort::kDefault, usual}, {Effort::kBest, kBest * usual}};
}

}  // namespace

CostEstimate estimate_cost(const Graph& model, const Dataset& data, const Config& config,
                           const Toolkit& toolkit, const CalibrateOptions& options) {
  const Graph prepared = prepare(model, toolkit);
  const Feed feed(prepared, data, options.samples);
  const Executable executable(prepared);
  const Sizes sizes = sizes_of(prepared);
  const int threads = thread_count(options.threads);
  const auto runs = static_cast<double>(feed.runs());
  CostEstimate result;
  result.seconds = seconds_of(seconds_of_run(executable, feed), runs, sizes, threads);

  constexpr double kProgram = 80e6;
  constexpr double kCopies = 2.75;  // of weights in float: packed as well, and as integers
  if (config.effort != Effort::kFast) {
    // A step of the sequential schedule has two caches, the one that is read and the one that
    // is written. They share their memory, but for blocks that both are at.
    const double all = runs * sizes.largest_live;
    const double usual_runs =
        std::ceil(static_cast<double>(kUsualSamples) / static_cast<double>(feed.batch()));
    const auto usual = static_cast<std::size_t>(usual_runs * sizes.largest_live);
    const double in_memory =
        std::min(all, static_cast<double>(memory_of_each_cache(options.memory, usual)));
    constexpr double kBlocks = 2.0 * RecordMemory::kBlock;
    result.activations = in_memory + std::min(in_memory, kBlocks);
    result.disk = 2 * (all - in_memory);
  }
  const double weights = kCopies * sizes.weights * sizeof(float);
  result.disk += std::max(weights - static_cast<double>(shared_memory_limit()), 0.0);
  result.memory = kProgram + weights + result.activations +
                  threads * static_cast<double>(executable.workspace_bytes());
  return result;
}

}  // namespace tare
