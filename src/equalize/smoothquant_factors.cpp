// Factors of SmoothQuant (Xiao, Lin, Seznec, Wu, Demouth and Han, "SmoothQuant: Accurate and
// Efficient Post-Training Quantization for Large Language Models", 2023, equation 4 with the
// migration strength 1/2 that the paper proposes). They level each channel of an activation
// with the weights that it meets, so that outlier channels, which a scale for the whole tensor
// is too coarse for, move into weights, which have scales of their own. Sites without outliers
// are not worth a trial; an estimate of their rounding error sorts them out.
//
// Cost: the samples once through the float network for magnitudes, and those of a trial.
#include "equalize/smoothquant_factors.h"

#include "equalize/equalize.h"
#include "execute/run/sample_driver.h"
#include "simulate/settings.h"

#include <algorithm>
#include <cmath>

namespace tare {
namespace {

/// Whether the rows are rounded somewhere, and no range is the user's, which is of real values.
bool is_open(const SimulatedGraph& simulated, const SmoothQuantSite& site) {
  bool is_rounded = false;
  bool is_fixed = false;
  for (const QuantPoint& point : simulated.points) {
    if (point.role == Role::kActivation &&
        (point.value == site.value ||
         std::find(site.moved.begin(), site.moved.end(), point.value) != site.moved.end())) {
      is_rounded = true;
      is_fixed = is_fixed || point.calibrator.name == "fixed";
    }
  }
  return is_rounded && !is_fixed;
}

/// Those that the configuration leaves open.
std::vector<SmoothQuantSite> open_sites(const SimulatedGraph& simulated,
                                        const VersionTrial& trial) {
  const Graph& graph = simulated.source;
  const Settings settings(graph, trial.config, trial.target);
  std::vector<SmoothQuantSite> sites = smoothquant_sites(graph);
  std::erase_if(sites, [&](const SmoothQuantSite& site) {
    const auto is_left_alone = [&](const ChannelConstant& constant) {
      return !settings.equalizes(graph.node(constant.node));
    };
    return !is_open(simulated, site) ||
           std::any_of(site.divided.begin(), site.divided.end(), is_left_alone) ||
           std::any_of(site.weights.begin(), site.weights.end(), is_left_alone);
  });
  return sites;
}

using Magnitudes = std::vector<std::vector<float>>;  ///< by site, then by channel

void observe(const Tensor& value, std::vector<float>& largest) {
  const auto values = value.view<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    float& own = largest[i % largest.size()];
    own = std::max(own, std::abs(values[i]));
  }
}

/// The largest magnitude of each channel on the samples.
Magnitudes magnitudes(Graph graph, const std::vector<SmoothQuantSite>& sites,
                      const VersionTrial& trial) {
  Magnitudes nothing;
  std::vector<ValueId> values;
  for (const SmoothQuantSite& site : sites) {
    nothing.emplace_back(site.channels(graph));
    values.push_back(site.value);
  }
  graph.set_outputs(values);
  graph.erase_unused();
  const Executable executable(graph);
  const Feed feed(graph, trial.data, trial.fitting.samples);
  SampleDriver driver(executable, trial.fitting.threads);
  std::vector<Magnitudes> largest(driver.workers(), nothing);
  driver.run(feed, [&](std::size_t worker, Executable::Workspace& workspace, std::size_t,
                       std::span<const Tensor> inputs) {
    const auto results = executable.run(workspace, inputs);
    for (std::size_t i = 0; i < results.size(); ++i) {
      observe(results[i], largest[worker][i]);
    }
  });
  Magnitudes result = nothing;
  for (const Magnitudes& own : largest) {
    for (std::size_t i = 0; i < own.size(); ++i) {
      std::transform(result[i].begin(), result[i].end(), own[i].begin(), result[i].begin(),
                     [](float a, float b) { return std::max(a, b); });
    }
  }
  return result;
}

/// What rounding makes of a product, but for a constant: steps follow the largest element, and
/// each error is multiplied by the other side.
double product_error(std::span<const float> activations, std::span<const float> weights,
                     std::span<const float> factors) {
  double largest_x = 0;
  double largest_w = 0;
  double sum_xx = 0;
  double sum_ww = 0;
  for (std::size_t j = 0; j < activations.size(); ++j) {
    const double factor = factors.empty() ? 1 : static_cast<double>(factors[j]);
    const double x = static_cast<double>(activations[j]) / factor;
    const double w = static_cast<double>(weights[j]) * factor;
    largest_x = std::max(largest_x, x);
    largest_w = std::max(largest_w, w);
    sum_xx += x * x;
    sum_ww += w * w;
  }
  return largest_x * largest_x * sum_ww + largest_w * largest_w * sum_xx;
}

/// A site is not worth a trial where less than half of its error would go, which is not the
/// only one of the network.
constexpr double kWorthTrying = 0.5;

}  // namespace

std::vector<float> smoothquant_factors(std::span<const float> activation_magnitudes,
                                       std::span<const float> weight_magnitudes) {
  std::vector<float> result(activation_magnitudes.size(), 1.0F);
  for (std::size_t j = 0; j < result.size(); ++j) {
    if (activation_magnitudes[j] > 0 && weight_magnitudes[j] > 0) {
      result[j] = std::sqrt(activation_magnitudes[j]) / std::sqrt(weight_magnitudes[j]);
    }
  }
  return result;
}

ChannelFactors find_smoothquant_factors(const VersionTrial& trial, Statistics* found) {
  const SimulatedGraph plain = trial.simulate(trial.graph);
  const std::vector<SmoothQuantSite> sites = open_sites(plain, trial);
  if (sites.empty()) {
    return {};
  }
  const Magnitudes observed = magnitudes(plain.source, sites, trial);
  ChannelFactors factors;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const std::vector<float> weights = weight_magnitudes(plain.source, sites[i]);
    std::vector<float> own = smoothquant_factors(observed[i], weights);
    if (product_error(observed[i], weights, own) <
        kWorthTrying * product_error(observed[i], weights, {})) {
      factors.emplace(plain.source.name(sites[i].value), std::move(own));
    }
  }
  if (factors.empty()) {
    return factors;
  }
  const SimulatedGraph changed =
      trial.simulate(equalize(trial.graph, factors, trial.fitting.threads));
  const Statistics plain_statistics =
      found != nullptr && found->samples > 0 ? *found : collect(plain, trial.data, trial.all());
  if (found != nullptr) {
    *found = plain_statistics;
  }
  const Statistics changed_statistics = collect(changed, trial.data, trial.all());
  return trial.is_clearly_better({changed, changed_statistics}, {plain, plain_statistics})
             ? factors
             : ChannelFactors{};
}

}  // namespace tare
