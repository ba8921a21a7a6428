// One step runs a part of the graph over all samples: from the inputs and the values that
// earlier steps cached to what the next level has to see and what later steps need cached.
// Every level is run twice, once to see its values and once, in the next step, to quantize them
// (docs/decisions/0012-cached-activations-are-in-a-file.md), so all steps together cost about
// two runs of the network for each sample, however many levels there are. Memory: two caches,
// each with half of what is allowed, and a workspace for each thread. Results do not depend on
// the number of threads as long as what `take` does depends on the run and not on the order of
// runs.
#include "calibrate/sequential/layerwise_runner.h"

#include "base/parallel.h"
#include "execute/run/sample_driver.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace tare {
namespace {

/// Weights and biases become storage values once instead of in every run.
void quantize_constants(Graph& graph) {
  for (const NodeId id : graph.topological_order()) {
    const Node node = graph.node(id);
    const Tensor* constant = graph.constant(node.inputs[0]);
    if (node.op != "SimulatedQuantize" || constant == nullptr) {
      continue;
    }
    const ValueId before = node.outputs[0];
    const TensorType type = graph.type(before);
    const std::vector<float> storage = quantize(*constant, *type.quant).to_float();
    const ValueId after =
        graph.add_constant(graph.unique_name(graph.name(before)),
                           Tensor::of<float>(constant->shape(), storage), type);
    graph.replace_uses(before, after);
    graph.erase(id);
  }
}

/// What one step runs.
struct Part {
  Graph graph;
  std::vector<std::string> data_inputs;
  std::vector<std::size_t> cached_inputs;  ///< indices into the cache
  ExecuteOptions options;
};

Part make_part(Subgraph cut, const ActivationCache& cache) {
  std::map<ValueId, std::size_t> cached;
  for (std::size_t i = 0; i < cache.values().size(); ++i) {
    cached.emplace(cache.values()[i].value, i);
  }
  Part part;
  part.graph = std::move(cut.graph);
  for (std::size_t i = 0; i < cut.inputs.size(); ++i) {
    const ValueId input = part.graph.inputs()[i];
    const auto found = cached.find(cut.inputs[i]);
    if (found == cached.end()) {
      part.data_inputs.push_back(part.graph.name(input));
      continue;
    }
    part.cached_inputs.push_back(found->second);
    if (cache.values()[found->second].channels_last) {
      part.options.channels_last.push_back(input);
    }
  }
  // Results are shown, so they need not be copied out.
  part.options.observe.assign(part.graph.outputs().begin(), part.graph.outputs().end());
  part.graph.set_outputs({});
  quantize_constants(part.graph);
  return part;
}

}  // namespace

LayerwiseRunner::LayerwiseRunner(const Graph& source, const Dataset& data,
                                 const CalibrateOptions& options)
    : feed_(source, data, options.samples),
      threads_(thread_count(options.threads)),
      memory_(options.memory),
      cache_({}, feed_.runs(), 0) {}

std::vector<ValueId> LayerwiseRunner::cached_values() const {
  std::vector<ValueId> result;
  for (const CachedActivation& cached : cache_.values()) {
    result.push_back(cached.value);
  }
  return result;
}

void LayerwiseRunner::step(Subgraph cut, std::span<const ValueId> kept, const Take& take) {
  const Part part = make_part(std::move(cut), cache_);
  const Executable executable(part.graph, part.options);
  const std::vector<ValueId>& outputs = part.options.observe;
  const std::size_t results = outputs.size() - kept.size();
  std::vector<CachedActivation> cached;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    cached.push_back({kept[i], part.graph.type(outputs[results + i]),
                      executable.shows_channels_last(results + i)});
  }
  // The old cache is needed to the end, so each may have half of the memory.
  ActivationCache next(std::move(cached), feed_.runs(), memory_ / 2, std::move(spare_));

  const Feed feed = feed_.only(part.data_inputs);
  SampleDriver driver(executable, threads_);
  std::vector<std::vector<Tensor>> inputs_of(driver.workers());
  for (const ValueId input : part.graph.inputs()) {
    const TensorType& type = part.graph.type(input);
    for (std::vector<Tensor>& own : inputs_of) {
      own.emplace_back(type.dtype, type.shape);
    }
  }
  driver.run(feed,
             [&](std::size_t worker, Executable::Workspace& workspace, std::size_t run,
                 std::span<const Tensor> inputs) {
               std::vector<Tensor>& own = inputs_of[worker];
               std::copy(inputs.begin(), inputs.end(), own.begin());
               for (std::size_t i = 0; i < part.cached_inputs.size(); ++i) {
                 cache_.read(run, part.cached_inputs[i], own[inputs.size() + i]);
               }
               (void)executable.run(workspace, own,
                                    [&](std::size_t index, const TensorView& view) {
                                      if (index < results) {
                                        take(worker, run, index, view);
                                      } else {
                                        next.write(run, index - results, view);
                                      }
                                    });
             },
             {.progress = progress, .stop = {}});
  spare_ = cache_.take_file();
  cache_ = std::move(next);
}

}  // namespace tare
