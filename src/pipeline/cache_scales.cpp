// Scales of keys and values in caches. Channels of keys differ by orders of magnitude and stay
// alike from token to token (Liu et al., "KIVI: A Tuning-Free Asymmetric 2bit Quantization for
// KV Cache", 2024), so each channel of each head position has a scale of its own unless heads
// are asked for. The largest magnitude decides: a key that is cut off would be missed by every
// later token. A graph of the caches alone runs over the samples.
#include "pipeline/cache_scales.h"

#include "tare/error.h"
#include "tare/execute.h"
#include "tare/graph.h"

#include "execute/run/feed.h"
#include "execute/run/sample_driver.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tare {
namespace {

constexpr int kHeads = 1;
constexpr int kChannels = 3;
constexpr float kMost = 127;

void observe(const Tensor& cache, int axis, std::vector<float>& largest) {
  const Shape& shape = cache.shape();
  const auto values = cache.view<float>();
  std::size_t stride = 1;
  for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < shape.size(); ++i) {
    stride *= static_cast<std::size_t>(shape[i]);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    float& own = largest[i / stride % largest.size()];
    own = std::max(own, std::abs(values[i]));
  }
}

}  // namespace

std::map<std::string, CacheScales> cache_scales(const Graph& prepared, const Dataset& data,
                                                const CacheConfig& config,
                                                const CalibrateOptions& options) {
  const std::vector<Cache> caches = find_caches(prepared);
  if (caches.empty()) {
    throw Error(ErrorCode::kInvalidConfig, "'cache.storage'", "the model has no caches")
        .expected("inputs of [batch,heads,length,size] that outputs begin with");
  }
  const int axis = config.per_head ? kHeads : kChannels;
  Graph graph = prepared;
  std::vector<ValueId> outputs;
  std::vector<std::vector<float>> nothing;
  for (const Cache& cache : caches) {
    outputs.push_back(cache.output);
    nothing.emplace_back(static_cast<std::size_t>(
        graph.type(cache.output).shape[static_cast<std::size_t>(axis)]));
  }
  graph.set_outputs(outputs);
  const Executable executable(graph);
  const Feed feed(graph, data, options.samples, options.first);
  SampleDriver driver(executable, options.threads);
  std::vector<std::vector<std::vector<float>>> largest(driver.workers(), nothing);
  driver.run(feed, [&](std::size_t worker, Executable::Workspace& workspace, std::size_t,
                       std::span<const Tensor> inputs) {
    const auto results = executable.run(workspace, inputs);
    for (std::size_t i = 0; i < results.size(); ++i) {
      observe(results[i], axis, largest[worker][i]);
    }
  });
  std::map<std::string, CacheScales> result;
  for (std::size_t i = 0; i < caches.size(); ++i) {
    CacheScales scales{.axis = axis, .scales = nothing[i]};
    for (const auto& own : largest) {
      for (std::size_t c = 0; c < scales.scales.size(); ++c) {
        scales.scales[c] = std::max(scales.scales[c], own[i][c]);
      }
    }
    for (float& scale : scales.scales) {
      scale = scale > 0 && std::isfinite(scale) ? scale / kMost : 1;
    }
    result.emplace(graph.name(caches[i].output), std::move(scales));
  }
  return result;
}

}  // namespace tare
