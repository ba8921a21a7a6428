#include "tare/calibrator.h"
#include "tare/error.h"
#include "tare/execute.h"

#include "base/check.h"
#include "base/parallel.h"
#include "calibrate/weights.h"
#include "execute/feed.h"

#include <algorithm>
#include <mutex>
#include <optional>

namespace tare {
namespace {

std::unique_ptr<const Calibrator> make_calibrator(const CalibratorChoice& choice,
                                                  std::span<const CalibratorInfo> known) {
  const auto fault = [&](const std::string& what, const std::string& near) {
    Error error(ErrorCode::kInvalidConfig, "calibrator '" + choice.name + "'", what);
    if (!near.empty()) {
      error.hint("did you mean '" + near + "'?");
    }
    return error;
  };
  std::vector<std::string> names;
  for (const CalibratorInfo& info : known) {
    names.emplace_back(info.name);
    if (info.name != choice.name) {
      continue;
    }
    for (const auto& [option, value] : choice.options) {
      if (std::find(info.options.begin(), info.options.end(), option) == info.options.end()) {
        throw fault("has no option '" + option + "'", nearest(option, info.options));
      }
    }
    return info.make(CalibratorOptions(choice.options));
  }
  throw fault("is not known", nearest(choice.name, names));
}

/// One summary per activation point, over all samples.
std::vector<Summary> observe(const Graph& graph, const std::vector<ValueId>& values,
                             const Dataset& data, const CalibrateOptions& options) {
  const Executable executable(graph, {.observe = values});
  const Feed feed(graph, data, options.samples);
  const auto threads = static_cast<std::size_t>(thread_count(options.threads));
  struct Worker {
    std::optional<Executable::Workspace> workspace;
    std::vector<Summary> summaries;
  };
  std::vector<Worker> workers(threads);
  std::mutex progress;
  std::size_t done = 0;
  parallel_for(feed.chunks(), static_cast<int>(threads), [&](std::size_t w, std::size_t chunk) {
    Worker& worker = workers[w];
    if (!worker.workspace) {
      worker.workspace.emplace(executable);
      worker.summaries.resize(values.size());
    }
    const auto take = [&](std::size_t index, const TensorView& view) {
      worker.summaries[index].observe(view.elements<float>());
    };
    feed.for_each_run(chunk, [&](std::size_t, std::span<const Tensor> inputs) {
      (void)executable.run(*worker.workspace, inputs, take);
    });
    if (options.progress) {
      const std::lock_guard lock(progress);
      done += feed.samples_in(chunk);
      options.progress(done, feed.samples());
    }
  });
  // Summaries do not depend on grouping, so which worker saw which sample does not matter.
  std::vector<Summary> total(values.size());
  for (const Worker& worker : workers) {
    for (std::size_t i = 0; i < worker.summaries.size(); ++i) {
      total[i].merge(worker.summaries[i]);
    }
  }
  return total;
}

PointResult choose_activation(const Summary& seen, const QuantPoint& point,
                              std::span<const CalibratorInfo> calibrators) {
  if (seen.nan() + seen.infinite() != 0) {
    throw Error(ErrorCode::kInvalidData, "value '" + point.name + "'",
                "holds " + std::to_string(seen.nan()) + " NaN and " +
                    std::to_string(seen.infinite()) +
                    " infinite values while running the samples");
  }
  PointResult result;
  result.calibrator = point.calibrator.name;
  result.elements = seen.count();
  result.seen = {{seen.low(), seen.high()}};
  result.chosen = {make_calibrator(point.calibrator, calibrators)->choose(seen, point.spec)};
  result.params = to_quant_params(result.chosen, point.spec);
  return result;
}

PointResult choose_weight(const SimulatedGraph& simulated, const QuantPoint& point,
                          std::span<const CalibratorInfo> calibrators) {
  const Tensor& values = *simulated.source.constant(point.value);
  PointResult result =
      choose_constant(values, point, *make_calibrator(point.calibrator, calibrators));
  const int limit = simulated.target.weight_pair_limit;
  if (limit > 0 && point.reader) {
    const Node& reader = simulated.source.node(*point.reader);
    if (const auto order = kernel_order(simulated.source, reader)) {
      result.widened_channels = limit_pairs(values, *order, limit, result.params);
    }
  }
  return result;
}

/// Scale products of the accumulators, after weights have made room for their biases.
void derive_accumulators(const SimulatedGraph& simulated, QuantTable& table) {
  std::vector<const QuantPoint*> accumulators;
  for (const QuantPoint& point : simulated.points) {
    if (point.role != Role::kAccumulator) {
      continue;
    }
    accumulators.push_back(&point);
    PointResult& weight = table.at(point.weight);
    for (const ValueId bias : point.biases) {
      const auto widened = fit_bias(*simulated.source.constant(bias),
                                    table.at(point.input).params.scale[0], weight.params);
      weight.widened_channels.insert(weight.widened_channels.end(), widened.begin(),
                                     widened.end());
    }
  }
  for (const QuantPoint* point : accumulators) {
    const QuantParams& weight = table.at(point->weight).params;
    PointResult result;
    result.params.storage = DType::kInt32;
    result.params.scale = weight.scale;
    for (float& scale : result.params.scale) {
      scale *= table.at(point->input).params.scale[0];
    }
    result.params.zero_point.assign(weight.scale.size(), 0);
    if (weight.per_axis()) {
      result.params.axis = 0;
    }
    table.emplace(point->name, std::move(result));
  }
}

}  // namespace

double CalibratorOptions::number(const std::string& key, double fallback) const {
  const auto found = values_->find(key);
  return found == values_->end() ? fallback : found->second;
}

QuantTable calibrate(const SimulatedGraph& simulated, const Dataset& data,
                     std::span<const CalibratorInfo> calibrators,
                     const CalibrateOptions& options) {
  // With every point disabled the simulated graph computes what its source computes.
  const Graph& graph = simulated.source;
  std::vector<const QuantPoint*> activations;
  std::vector<ValueId> values;
  for (const QuantPoint& point : simulated.points) {
    (void)make_calibrator(point.calibrator,
                          calibrators);  // a misspelling shows before the work
    if (point.role == Role::kActivation) {
      activations.push_back(&point);
      values.push_back(point.value);
    }
  }
  const std::vector<Summary> seen = observe(graph, values, data, options);
  QuantTable table;
  for (std::size_t i = 0; i < activations.size(); ++i) {
    table.emplace(activations[i]->name,
                  choose_activation(seen[i], *activations[i], calibrators));
  }
  for (const QuantPoint& point : simulated.points) {
    if (point.role == Role::kWeight) {
      table.emplace(point.name, choose_weight(simulated, point, calibrators));
    }
  }
  derive_accumulators(simulated, table);
  return table;
}

}  // namespace tare
