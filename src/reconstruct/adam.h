#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace tare {

/// Steps down a gradient, each number by its own (Kingma and Ba, "Adam: A Method for Stochastic
/// Optimization", 2015, algorithm 1, with its default rates of decay).
class Adam {
 public:
  explicit Adam(std::size_t count) : mean_(count), square_(count) {}

  std::size_t size() const { return mean_.size(); }
  /// Begins a step; after that update() of each number once, from any threads.
  void begin() {
    decay_mean_ *= kMean;
    decay_square_ *= kSquare;
  }
  void update(std::size_t i, float gradient, float rate, float& value) {
    mean_[i] = kMean * mean_[i] + (1 - kMean) * gradient;
    square_[i] = kSquare * square_[i] + (1 - kSquare) * gradient * gradient;
    const float mean = mean_[i] / (1 - decay_mean_);
    const float square = square_[i] / (1 - decay_square_);
    value -= rate * mean / (std::sqrt(square) + kEpsilon);
  }

 private:
  static constexpr float kMean = 0.9F;
  static constexpr float kSquare = 0.999F;
  static constexpr float kEpsilon = 1e-8F;

  std::vector<float> mean_;
  std::vector<float> square_;
  float decay_mean_ = 1;
  float decay_square_ = 1;
};

}  // namespace tare
