// Kullback-Leibler divergence of the classes' distribution from that of the float network.
#include "tare/report.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace tare {
namespace {

/// What rounding in float32 leaves of a probability of 0 next to one of 1.
constexpr double kLeast = 0x1p-24;

/// The results of a last Softmax are a distribution already.
bool is_distribution(std::span<const float> row) {
  constexpr double kRounding = 1e-3;  // of a thousand classes in float32, with a wide margin
  const double sum = std::accumulate(row.begin(), row.end(), 0.0);
  return std::abs(sum - 1) < kRounding &&
         std::all_of(row.begin(), row.end(), [](float x) { return x >= 0; });
}

/// Logarithms of probabilities: those of a softmax, or of the numbers themselves.
std::vector<double> log_probabilities(std::span<const float> row, bool are_probabilities) {
  std::vector<double> result(row.begin(), row.end());
  if (are_probabilities) {
    for (double& x : result) {
      x = std::log(std::max(x, kLeast));
    }
  }
  const double largest = *std::max_element(result.begin(), result.end());
  double sum = 0;
  for (const double x : result) {
    sum += std::exp(x - largest);
  }
  for (double& x : result) {
    x -= largest + std::log(sum);
  }
  return result;
}

double divergence(std::span<const float> real, std::span<const float> quantized) {
  const bool are_probabilities = is_distribution(real);
  const std::vector<double> p = log_probabilities(real, are_probabilities);
  const std::vector<double> q = log_probabilities(quantized, are_probabilities);
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    sum += std::exp(p[i]) * (p[i] - q[i]);
  }
  return sum;
}

/// The mean over the rows of the first result.
std::optional<double> mean_divergence(const SampleResults& results) {
  const Tensor& real = results.real[0];
  if (real.dtype() != DType::kFloat32 || real.shape().empty() || real.shape().back() < 2 ||
      real.size() == 0) {
    return std::nullopt;
  }
  const auto width = static_cast<std::size_t>(real.shape().back());
  const auto x = real.view<float>();
  const auto y = results.quantized[0].view<float>();
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); i += width) {
    sum += divergence(x.subspan(i, width), y.subspan(i, width));
  }
  return sum * static_cast<double>(width) / static_cast<double>(x.size());
}

}  // namespace
}  // namespace tare

TARE_METRIC(output_kl) {
  using namespace tare;
  return {.name = "output.kl",
          .summary =
              "mean Kullback-Leibler divergence, in nats, of the softmax of the first "
              "output, or of the output itself where it is a distribution, from that of "
              "the float network",
          .make = [] { return std::make_unique<MeanMetric>(mean_divergence); }};
}
