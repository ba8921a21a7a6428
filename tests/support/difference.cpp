#include "support/difference.h"

#include <algorithm>
#include <cmath>

namespace tare::test {

double sqnr(std::span<const float> exact, std::span<const float> other) {
  double signal = 0;
  double noise = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const auto x = static_cast<double>(exact[i]);
    signal += x * x;
    noise += std::pow(x - static_cast<double>(other[i]), 2);
  }
  return 10 * std::log10(signal / noise);
}

double sqnr(const Graph& exact, const Graph& other, const Dataset& data, std::size_t samples) {
  const auto values = [&](const Graph& graph) {
    std::vector<float> all;
    for (const std::vector<Tensor>& outputs : results_of(graph, data, samples)) {
      for (const Tensor& output : outputs) {
        const std::vector<float> own = output.to_float();
        all.insert(all.end(), own.begin(), own.end());
      }
    }
    return all;
  };
  return sqnr(values(exact), values(other));
}

double distance(const Results& a, const Results& b) {
  double most = 0;
  for (std::size_t output = 0; output < a.at(0).size(); ++output) {
    double largest = 0;
    double apart = 0;
    for (std::size_t sample = 0; sample < a.size(); ++sample) {
      const std::vector<double> x = a[sample][output].to_double();
      const std::vector<double> y = b.at(sample).at(output).to_double();
      for (std::size_t i = 0; i < x.size(); ++i) {
        largest = std::max(largest, std::abs(x[i]));
        apart = std::max(apart, std::abs(x[i] - y.at(i)));
      }
    }
    most = std::max(most, largest > 0 ? apart / largest : apart);
  }
  return most;
}

}  // namespace tare::test
