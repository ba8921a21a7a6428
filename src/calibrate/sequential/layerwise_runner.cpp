// One step runs a part of the graph over all samples: from the inputs and the values that
// earlier steps cached to what the next level has to see and what later steps need cached. What
// a level sees is cached as it was seen, in float, so that the next step, which quantizes it,
// need not compute it again: then all steps together cost about one run of the network for each
// sample, however many levels there are. Where that does not fit into memory, every level is
// run twice, once to see its values and once to quantize them; quantized values alone take a
// quarter of the bytes (docs/decisions/0012-cached-activations-are-in-a-file.md). The values
// are the same either way, so the memory does not show in the result.
//
// Memory: two caches, each with half of what is allowed, and a workspace for each thread. Where
// nothing is said, as much as 64 samples take is allowed, and 16 MiB for small networks.
// Results do not depend on the number of threads as long as what `take` does depends on the run
// and not on the order of runs.
#include "calibrate/sequential/layerwise_runner.h"

#include "base/parallel.h"
#include "execute/run/sample_driver.h"

#include <algorithm>
#include <map>
#include <optional>

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
    const QuantParams as_they_are{
        .storage = type.quant->storage, .scale = {1}, .zero_point = {0}, .axis = {}};
    const ValueId after =
        graph.add_constant(graph.unique_name(graph.name(before)),
                           dequantize(quantize(*constant, *type.quant), as_they_are), type);
    graph.replace_uses(before, after);
    graph.erase(id);
  }
}

/// What one step runs.
struct Part {
  Graph graph;
  // Inputs of the graph come from the data or the cache, in any order.
  std::vector<std::string> data_inputs;
  std::vector<std::size_t> data_places;    ///< of these among the inputs
  std::vector<std::size_t> cached_inputs;  ///< indices into the cache
  std::vector<std::size_t> cached_places;
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
      part.data_places.push_back(i);
      continue;
    }
    part.cached_inputs.push_back(found->second);
    part.cached_places.push_back(i);
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
                                 const CalibrateOptions& options, const Communicator* team)
    : runs_(Feed(source, data, options.samples).runs()),
      own_(own_share(runs_, team)),
      feed_(own_feed(source, data, options.samples, 0, team)),
      several_shapes_(data.has_several_shapes()),
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

std::size_t LayerwiseRunner::memory_of_cache(
    const std::vector<CachedActivation>& cached) const {
  const std::size_t usual_runs = (kUsualSamples + batch() - 1) / batch();
  return memory_of_each_cache(memory_, ActivationCache::bytes(cached, usual_runs));
}

void LayerwiseRunner::step(Subgraph cut, std::span<const ValueId> watched,
                           std::span<const ValueId> kept, const std::set<ValueId>& undecided,
                           const Take& take) {
  const Part part = make_part(std::move(cut), cache_);
  const Executable executable(part.graph, part.options);
  // Of each output, its place in the next cache.
  std::vector<std::optional<std::size_t>> places(part.options.observe.size());
  std::vector<CachedActivation> cached;
  const auto cache = [&](ValueId value, std::size_t output) {
    places[output] = cached.size();
    cached.push_back({value, part.graph.type(part.options.observe[output]),
                      executable.shows_channels_last(output)});
  };
  for (std::size_t i = 0; i < kept.size(); ++i) {
    cache(kept[i], watched.size() + i);
  }
  const std::size_t decided = cached.size();
  for (std::size_t i = 0; i < watched.size(); ++i) {
    if (undecided.contains(watched[i])) {
      cache(watched[i], i);
    }
  }
  const std::size_t memory = memory_of_cache(cached);
  if (ActivationCache::bytes(cached, feed_.runs()) > memory) {
    cached.resize(decided);
    std::fill_n(places.begin(), watched.size(), std::nullopt);
  }
  ActivationCache next(std::move(cached), feed_.runs(), memory, std::move(spare_file_),
                       several_shapes_);

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
               for (std::size_t i = 0; i < inputs.size(); ++i) {
                 own[part.data_places[i]] = inputs[i];
               }
               for (std::size_t i = 0; i < part.cached_inputs.size(); ++i) {
                 cache_.read(run, part.cached_inputs[i], own[part.cached_places[i]]);
               }
               cache_.release(run);
               (void)executable.run(workspace, own,
                                    [&](std::size_t index, const TensorView& view) {
                                      if (index < watched.size()) {
                                        take(worker, own_.first + run, index, view);
                                      }
                                      if (places[index]) {
                                        next.write(run, *places[index], view);
                                      }
                                    });
             },
             {.progress = progress, .stop = {}});
  spare_file_ = cache_.take_file();
  cache_ = std::move(next);
}

}  // namespace tare
