#include "io/samples/histogram_chart.h"

#include "io/samples/presets.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

namespace tare {
namespace {

constexpr double kWidth = 300;
constexpr double kHeight = 110;
constexpr std::size_t kBins = 64;

std::string decimal(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

std::string attribute(const char* name, double value) {
  return std::string(" ") + name + "=\"" + decimal(value) + "\"";
}

}  // namespace

void ChannelValues::add(float value) {
  low_ = std::min(low_, value);
  high_ = std::max(high_, value);
  const auto x = static_cast<double>(value);
  sum_ += x;
  squares_ += x * x;
  // One of so many is enough for a histogram.
  constexpr std::int64_t kEvery = 7;
  if (static_cast<std::int64_t>(count_) % kEvery == 0) {
    values_.push_back(value);
  }
  ++count_;
}

double ChannelValues::deviation() const {
  return count_ == 0 ? 0 : std::sqrt(std::max(squares_ / count_ - mean() * mean(), 0.0));
}

std::vector<std::size_t> ChannelValues::bins(double from, double to, std::size_t count) const {
  std::vector<std::size_t> result(count);
  for (const float value : values_) {
    const double place = (static_cast<double>(value) - from) / (to - from);
    const auto bin = static_cast<std::int64_t>(place * static_cast<double>(count));
    ++result[static_cast<std::size_t>(
        std::clamp<std::int64_t>(bin, 0, static_cast<std::int64_t>(count) - 1))];
  }
  return result;
}

std::optional<UsualValues> usual_values(const ModelInput& input, std::size_t channel,
                                        std::size_t channels, bool channels_last) {
  if (is_integer(input.dtype)) {
    return std::nullopt;
  }
  std::int64_t side = -1;
  if (input.shape) {
    for (const std::int64_t extent : *input.shape) {
      side = std::max(side, extent);
    }
  }
  const Preset& preset =
      guessed_preset(input, static_cast<std::int64_t>(channels), side, channels_last);
  const auto at = [&](const std::vector<double>& values) {
    return values[values.size() == 1 ? 0 : std::min(channel, values.size() - 1)];
  };
  const auto value_of = [&](double byte) {
    return (byte * preset.scale - at(preset.mean)) / at(preset.std);
  };
  constexpr double kMean = 116;
  constexpr double kDeviation = 70;
  return UsualValues{.preset = std::string(preset.name),
                     .low = value_of(0),
                     .high = value_of(255),
                     .mean = value_of(kMean),
                     .deviation = value_of(kDeviation) - value_of(0)};
}

std::string histogram_chart(const ChannelValues& values, int channel,
                            const std::optional<UsualValues>& usual) {
  double from = static_cast<double>(values.low());
  double to = static_cast<double>(values.high());
  if (usual) {
    from = std::min(from, usual->low);
    to = std::max(to, usual->high);
  }
  if (to <= from) {
    to = from + 1;
  }
  const std::vector<std::size_t> bins = values.bins(from, to, kBins);
  std::size_t all = 0;
  std::size_t most = 1;
  for (const std::size_t bin : bins) {
    all += bin;
    most = std::max(most, bin);
  }
  std::string svg = "<figure><svg width=\"300\" height=\"110\" viewBox=\"0 0 300 110\">";
  const double bar = kWidth / kBins;
  for (std::size_t i = 0; i < bins.size(); ++i) {
    const double height = kHeight * static_cast<double>(bins[i]) / static_cast<double>(most);
    svg += "<rect fill=\"#4a7db5\"" + attribute("x", static_cast<double>(i) * bar) +
           attribute("y", kHeight - height) + attribute("width", bar - 0.5) +
           attribute("height", height) + "/>";
  }
  if (usual) {
    svg += "<path fill=\"none\" stroke=\"#d07000\" stroke-width=\"2\" d=\"";
    const double step = (to - from) / kBins;
    for (std::size_t i = 0; i <= kBins; ++i) {
      const double x = from + static_cast<double>(i) * step;
      const double z = (x - usual->mean) / usual->deviation;
      const bool inside = usual->low <= x && x <= usual->high;
      const double share = inside ? step / usual->deviation * 0.399 * std::exp(-z * z / 2) : 0;
      const double height =
          std::min(share * static_cast<double>(all) / static_cast<double>(most), 1.0);
      svg += (i == 0 ? "M" : "L") + decimal(static_cast<double>(i) * bar) + " " +
             decimal(kHeight - kHeight * height);
    }
    svg += "\"/>";
  }
  svg += "</svg><figcaption>" +
         (channel < 0 ? std::string() : "channel " + std::to_string(channel) + ": ") +
         decimal(static_cast<double>(values.low())) + " to " +
         decimal(static_cast<double>(values.high())) + ", mean " + decimal(values.mean()) +
         ", deviation " + decimal(values.deviation());
  if (usual) {
    svg += "<br>usual (" + usual->preset + "): " + decimal(usual->low) + " to " +
           decimal(usual->high) + ", mean " + decimal(usual->mean) + ", deviation " +
           decimal(usual->deviation);
  }
  return svg + "</figcaption></figure>";
}

std::string curve(std::span<const float> values, float low, float high) {
  constexpr double kPoints = 200;
  constexpr double kCurveHeight = 60;
  std::string svg =
      "<svg width=\"200\" height=\"60\" viewBox=\"0 0 200 60\"><path fill=\"none\" "
      "stroke=\"#4a7db5\" d=\"";
  const auto count = static_cast<std::size_t>(
      std::min(kPoints, static_cast<double>(std::max<std::size_t>(values.size(), 1))));
  const double span = high > low ? static_cast<double>(high - low) : 1;
  // Least and largest of each part, so that no peak is lost.
  bool is_first = true;
  for (std::size_t i = 0; i < count && !values.empty(); ++i) {
    const std::size_t begin = i * values.size() / count;
    const std::size_t end = std::max((i + 1) * values.size() / count, begin + 1);
    const auto [least, largest] =
        std::minmax_element(values.begin() + static_cast<std::ptrdiff_t>(begin),
                            values.begin() + static_cast<std::ptrdiff_t>(end));
    for (const float value : {*least, *largest}) {
      svg += std::exchange(is_first, false) ? "M" : "L";
      svg += decimal(static_cast<double>(i) * kPoints / static_cast<double>(count)) + " " +
             decimal(kCurveHeight - kCurveHeight * (static_cast<double>(value - low)) / span);
    }
  }
  return svg + "\"/></svg>";
}

}  // namespace tare
