// Scales of AWQ. Rounding a weight costs the more the larger what it is multiplied by, and
// within a block all are rounded alike. Multiplying the weights of a channel by a factor before
// they are rounded, and dividing the channel by it, makes them finer by that factor, as long as
// they do not decide the step of their block. How far to go is one number for all channels, the
// exponent, which is tried: weights are rounded to nearest and multiplied with some rows.
//
// Cost for R rows, C channels and O results: 11 C O (R + 1) multiplications for each matrix.
#include "equalize/awq_factors.h"

#include "base/parallel.h"
#include "equalize/smoothquant_sites.h"
#include "execute/run/sample_driver.h"
#include "graph/arithmetic/per_axis.h"
#include "simulate/settings.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace tare {
namespace {

constexpr std::size_t kRows = 128;  ///< of each kind of samples
constexpr int kExponents = 11;      ///< from 0 to 1
/// Of the error without factors that has to be left at most on the holdout samples.
constexpr double kWorthwhile = 0.8;  // 1 dB, as ranges and rounding gain some of it, too

std::vector<SmoothQuantSite> sites_of_blocks(const Graph& graph, const Settings& settings) {
  std::vector<SmoothQuantSite> sites = smoothquant_sites(graph);
  std::erase_if(sites, [&](const SmoothQuantSite& site) {
    const auto is_open = [&](const ChannelConstant& weight) {
      return settings.weight_block(graph.node(weight.node)) != 0 &&
             settings.equalizes(graph.node(weight.node));
    };
    return site.weights.empty() ||
           !std::all_of(site.weights.begin(), site.weights.end(), is_open) ||
           !std::all_of(site.divided.begin(), site.divided.end(),
                        [&](const ChannelConstant& divided) {
                          return settings.equalizes(graph.node(divided.node));
                        });
  });
  return sites;
}

/// Some rows of a value and the mean magnitude of each channel.
struct Rows {
  std::vector<float> values;  ///< [rows, channels]
  std::vector<double> magnitudes;
};

/// Of each site, from the samples of that part.
std::vector<Rows> observe(Graph graph, const std::vector<SmoothQuantSite>& sites,
                          const Dataset& data, const CalibrateOptions& part) {
  std::vector<ValueId> values;
  std::vector<std::size_t> channels;
  for (const SmoothQuantSite& site : sites) {
    values.push_back(site.value);
    channels.push_back(site.channels(graph));
  }
  graph.set_outputs(values);
  graph.erase_unused();
  const Executable executable(graph);
  const Feed feed(graph, data, part.samples, part.first);
  const std::size_t runs = std::max<std::size_t>(feed.samples() / feed.batch(), 1);
  SampleDriver driver(executable, part.threads);
  // By run, so that the order in which threads take them does not show.
  std::vector<std::vector<Rows>> by_run(runs);
  driver.run(feed, [&](std::size_t, Executable::Workspace& workspace, std::size_t run,
                       std::span<const Tensor> inputs) {
    const auto results = executable.run(workspace, inputs);
    const std::size_t wanted = (run + 1) * kRows / runs - run * kRows / runs;
    std::vector<Rows>& own = by_run.at(run);
    own.resize(results.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      const auto all = results[i].view<float>();
      const std::size_t width = channels[i];
      const std::size_t rows = all.size() / width;
      own[i].magnitudes.resize(width);
      for (std::size_t k = 0; k < all.size(); ++k) {
        own[i].magnitudes[k % width] +=
            std::abs(static_cast<double>(all[k])) / static_cast<double>(rows);
      }
      const std::size_t count = std::min(wanted, rows);
      for (std::size_t k = 0; k < count; ++k) {
        const auto row = all.subspan((2 * k + 1) * rows / (2 * count) * width, width);
        own[i].values.insert(own[i].values.end(), row.begin(), row.end());
      }
    }
  });
  std::vector<Rows> result(sites.size());
  for (std::size_t i = 0; i < sites.size(); ++i) {
    result[i].magnitudes.resize(channels[i]);
    for (const std::vector<Rows>& run : by_run) {
      if (run.empty()) {
        continue;
      }
      result[i].values.insert(result[i].values.end(), run[i].values.begin(),
                              run[i].values.end());
      for (std::size_t c = 0; c < channels[i]; ++c) {
        result[i].magnitudes[c] += run[i].magnitudes[c] / static_cast<double>(runs);
      }
    }
  }
  return result;
}

/// mean|X_j|^a, with a geometric middle of 1; one of nothing where some channel never moves.
std::vector<float> factors_of(const std::vector<double>& magnitudes, double exponent) {
  double mean = 0;
  for (const double magnitude : magnitudes) {
    mean += magnitude / static_cast<double>(magnitudes.size());
  }
  constexpr double kLeast = 1e-4;
  std::vector<double> powers;
  for (const double magnitude : magnitudes) {
    powers.push_back(std::pow(std::max(magnitude, kLeast * mean + 1e-30), exponent));
  }
  const auto [least, most] = std::minmax_element(powers.begin(), powers.end());
  const double middle = std::sqrt(*least * *most);
  std::vector<float> factors;
  for (const double power : powers) {
    factors.push_back(static_cast<float>(power / middle));
  }
  return factors;
}

/// A matrix that multiplies the rows.
struct Matrix {
  Tensor weights;
  QuantSpec spec;
  std::size_t axis = 0;  ///< of the channels
};

/// What rounding the matrix does to it, [channels, results]: with factors, and these taken
/// back.
std::vector<float> lost(const Matrix& matrix, const std::vector<float>& factors) {
  const Shape& shape = matrix.weights.shape();
  const auto rows = static_cast<std::size_t>(shape[0]);
  const auto columns = static_cast<std::size_t>(shape[1]);
  const auto channel = [&](std::size_t i) {
    return matrix.axis == 0 ? i / columns : i % columns;
  };
  Tensor scaled = matrix.weights;
  const auto values = scaled.mutable_view<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] *= factors[channel(i)];
  }
  std::vector<Range> ranges(static_cast<std::size_t>(
      element_count(parameter_shape(shape, static_cast<int>(matrix.axis), matrix.spec.block))));
  for_each_slice(
      shape, static_cast<int>(matrix.axis), matrix.spec.block,
      [&](std::size_t place, std::size_t first, std::size_t count) {
        for (const float value : values.subspan(first, count)) {
          ranges[place].low = std::min(ranges[place].low, static_cast<double>(value));
          ranges[place].high = std::max(ranges[place].high, static_cast<double>(value));
        }
      });
  const QuantParams params = to_quant_params(ranges, matrix.spec);
  const auto rounded = dequantize(quantize(scaled, params), params).to_float();
  const auto exact = matrix.weights.view<float>();
  const std::size_t results = matrix.axis == 0 ? columns : rows;
  std::vector<float> result(exact.size());
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const std::size_t c = channel(i);
    const std::size_t o = matrix.axis == 0 ? i % columns : i / columns;
    result[c * results + o] = rounded[i] / factors[c] - exact[i];
  }
  return result;
}

/// Squares of what that does to the products with the rows.
double error(const Rows& rows, const std::vector<float>& lost) {
  const std::size_t channels = rows.magnitudes.size();
  const std::size_t results = lost.size() / channels;
  double sum = 0;
  std::vector<float> product(results);
  for (std::size_t first = 0; first < rows.values.size(); first += channels) {
    std::fill(product.begin(), product.end(), 0.0F);
    for (std::size_t c = 0; c < channels; ++c) {
      const float x = rows.values[first + c];
      const float* row = lost.data() + c * results;
      for (std::size_t o = 0; o < results; ++o) {
        product[o] += x * row[o];
      }
    }
    for (const float value : product) {
      sum += static_cast<double>(value) * static_cast<double>(value);
    }
  }
  return sum;
}

double error(const Rows& rows, const std::vector<Matrix>& matrices,
             const std::vector<float>& factors) {
  double sum = 0;
  for (const Matrix& matrix : matrices) {
    sum += error(rows, lost(matrix, factors));
  }
  return sum;
}

/// None where these do not help.
std::vector<float> best_factors(const Rows& fitting, const Rows& holdout,
                                const std::vector<Matrix>& matrices) {
  std::vector<float> best;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kExponents; ++i) {
    const std::vector<float> factors =
        factors_of(fitting.magnitudes, i / static_cast<double>(kExponents - 1));
    if (const double own = error(fitting, matrices, factors); own < least) {
      least = own;
      best = i == 0 ? std::vector<float>() : factors;
    }
  }
  const std::vector<float> none(fitting.magnitudes.size(), 1.0F);
  return !best.empty() &&
                 error(holdout, matrices, best) < kWorthwhile * error(holdout, matrices, none)
             ? best
             : std::vector<float>();
}

}  // namespace

ChannelFactors find_awq_factors(const VersionTrial& trial) {
  const Graph& graph = trial.graph;
  const Settings settings(graph, trial.config, trial.target);
  const std::vector<SmoothQuantSite> sites = sites_of_blocks(graph, settings);
  if (sites.empty()) {
    return {};
  }
  const std::vector<Rows> fitting = observe(graph, sites, trial.data, trial.fitting);
  const std::vector<Rows> holdout = observe(graph, sites, trial.data, trial.holdout);
  std::vector<std::vector<float>> found(sites.size());
  parallel_for(
      sites.size(), thread_count(trial.fitting.threads), [&](std::size_t, std::size_t i) {
        std::vector<Matrix> matrices;
        for (const ChannelConstant& weight : sites[i].weights) {
          const Node& node = graph.node(weight.node);
          const ValueId value = node.inputs[weight.operand];
          matrices.push_back({*graph.constant(value),
                              settings.weight(node, value, static_cast<int>(weight.axis)).spec,
                              weight.axis});
        }
        found[i] = best_factors(fitting[i], holdout[i], matrices);
      });
  ChannelFactors result;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    if (!found[i].empty()) {
      result.emplace(graph.name(sites[i].value), std::move(found[i]));
    }
  }
  return result;
}

}  // namespace tare
