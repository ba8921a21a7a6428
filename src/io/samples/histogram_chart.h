#pragma once

#include "tare/dataset.h"

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tare {

/// The values of one channel of some samples.
class ChannelValues {
 public:
  void add(float value);
  float low() const { return low_; }
  float high() const { return high_; }
  double mean() const { return count_ == 0 ? 0 : sum_ / count_; }
  double deviation() const;
  /// How many lie in each of that many equal parts of [from, to].
  std::vector<std::size_t> bins(double from, double to, std::size_t count) const;

 private:
  float low_ = std::numeric_limits<float>::infinity();
  float high_ = -std::numeric_limits<float>::infinity();
  double sum_ = 0;
  double squares_ = 0;
  double count_ = 0;
  std::vector<float> values_;
};

/// Values of pictures as they are usual for an input.
struct UsualValues {
  std::string preset;
  double low = 0;
  double high = 0;
  double mean = 0;
  double deviation = 0;
};

/// What the preset that is guessed for the input makes of pictures as they are in ImageNet:
/// bytes about 116, which deviate by 70. Nothing for inputs of integers.
std::optional<UsualValues> usual_values(const ModelInput&, std::size_t channel,
                                        std::size_t channels, bool channels_last);

/// SVG: bars of the values, and a curve of what is usual. `channel` -1: there is one only.
std::string histogram_chart(const ChannelValues&, int channel,
                            const std::optional<UsualValues>&);

/// SVG: a sample that is no picture, from its first to its last value.
std::string curve(std::span<const float> values, float low, float high);

}  // namespace tare
