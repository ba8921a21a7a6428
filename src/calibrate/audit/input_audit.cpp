// Looks for samples that were prepared in another way than those of training. Ranges are then
// those of wrong inputs, and a network that is fine in float is bad when quantized for no
// visible reason. Batch norms are the best evidence, as they hold the mean and variance of
// training. Without one, the values themselves are held against what usual ways of preparing
// give, and the results of the first convolution of an image network against 1.
// docs/warnings.md explains each test.
//
// Cost: the first layers on 16 samples, and one pass over the values of as many.

#include "calibrate/audit/input_audit.h"

#include "tare/graph.h"
#include "tare/quant_table.h"
#include "tare/statistics.h"

#include "calibrate/audit/first_layers.h"
#include "graph/text/literal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

namespace tare {
namespace {

/// Spread over the data. Only usual values are looked for, not the ends of the range.
constexpr std::size_t kSamples = 16;
/// Below this a range is likely to be exceeded later on; 100 to 500 samples are usual.
constexpr std::size_t kFewestSamples = 32;

struct Values {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  double mean = 0;
  double deviation = 0;
  bool is_whole = true;

  double reach() const { return std::max(-low, high); }
};

/// One sample at a time: all of them may be large.
Values values_of(const Dataset& samples, const std::string& input) {
  Values result;
  double sum = 0;
  double squares = 0;
  double count = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Tensor sample = samples.read(input, i, 1);
    for (const float value : sample.view<float>()) {
      const auto x = static_cast<double>(value);
      result.low = std::min(result.low, x);
      result.high = std::max(result.high, x);
      result.is_whole = result.is_whole && x == std::floor(x);
      sum += x;
      squares += x * x;
    }
    count += static_cast<double>(sample.size());
  }
  result.mean = sum / count;
  result.deviation = std::sqrt(std::max(squares / count - result.mean * result.mean, 0.0));
  return result;
}

/// [1,3,224,224] or [1,224,224,3]: up to four channels of some pixels.
bool is_image(const Shape& shape) {
  constexpr std::size_t kRank = 4;
  constexpr std::int64_t kChannels = 4;
  constexpr std::int64_t kPixels = 8;
  return shape.size() == kRank && shape[2] >= kPixels &&
         ((shape[1] <= kChannels && shape[3] >= kPixels) ||
          (shape[1] >= kPixels && shape[3] <= kChannels));
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::string brief(double value) {
  std::string text;
  constexpr double kDigits = 1e3;
  const double size = std::pow(10, std::floor(std::log10(std::max(std::abs(value), 1e-30))));
  append_literal(text, static_cast<float>(std::round(value / size * kDigits) / kDigits * size));
  return text;
}

std::string describe(const Values& observed) {
  return "(range [" + brief(observed.low) + ", " + brief(observed.high) + "], mean " +
         brief(observed.mean) + ", deviation " + brief(observed.deviation) + ")";
}

/// How what a batch norm reads differs from what it saw in training, for the median channel.
struct Shift {
  double scale = 1;   ///< of the deviations
  double offset = 0;  ///< of the means, in deviations of training
};

std::optional<Shift> shift_of(const FirstLayer& layer) {
  std::vector<double> ratios;
  std::vector<double> offsets;
  for (std::size_t c = 0; c < layer.trained->mean.size(); ++c) {
    const double variance = layer.trained->variance[c];
    // Channels that are nearly constant say nothing.
    constexpr double kConstant = 1e-10;
    if (variance > kConstant) {
      ratios.push_back(layer.observed.variance[c] / variance);
      offsets.push_back(std::abs(layer.observed.mean[c] - layer.trained->mean[c]) /
                        std::sqrt(variance));
    }
  }
  return ratios.empty() ? std::nullopt
                        : std::optional(Shift{std::sqrt(median(ratios)), median(offsets)});
}

/// Samples that were prepared as in training are within 1.5 and 0.25; the `std` of ImageNet in
/// place of a half is off by 2.2, one that was forgotten or applied twice by 4.4.
bool is_off(const Shift& shift) {
  constexpr double kScale = 2;
  constexpr double kOffset = 1;
  return shift.scale > kScale || shift.scale < 1 / kScale || shift.offset > kOffset;
}

constexpr const char* kKind = "input_preparation";

class InputAudit {
 public:
  InputAudit(const DatasetInput& input, const Shape& shape, const Values& observed)
      : input_(input), is_image_(is_image(shape)), observed_(observed) {}

  std::optional<Warning> run(const std::vector<FirstLayer>& layers) const {
    // A batch norm knows; without one usual values have to do.
    for (const FirstLayer& layer : layers) {
      const auto shift =
          layer.input == input_.name && layer.trained ? shift_of(layer) : std::nullopt;
      if (shift) {
        return is_off(*shift) ? std::optional(against_training(layer.node, *shift))
                              : std::nullopt;
      }
    }
    if (auto warning = unusual_values()) {
      return warning;
    }
    for (const FirstLayer& layer : layers) {
      if (layer.input == input_.name && is_image_) {
        return against_weights(layer);
      }
    }
    return std::nullopt;
  }

 private:
  Warning warning(std::string what) const {
    const bool is_raw = observed_.is_whole && observed_.low >= 0 && observed_.high <= 255 &&
                        observed_.high > 16;
    if (is_raw) {
      what = "holds whole numbers in [" + brief(observed_.low) + ", " + brief(observed_.high) +
             "] only, like pixels that were not normalized: " + what;
    }
    return {is_raw ? "unnormalized_input" : kKind, "input '" + input_.name + "'",
            std::move(what)};
  }

  Warning against_training(const std::string& node, const Shift& shift) const {
    const bool is_scale = shift.scale > 2 || shift.scale < 0.5;
    const std::string what =
        is_scale ? "varies " + brief(shift.scale) + " times as much as in training"
                 : "lies " + brief(shift.offset) + " deviations beside that of training";
    return warning("is not prepared as in training: what '" + node + "' reads " + what + " " +
                   describe(observed_));
  }

  /// Beyond what any usual preparation gives.
  std::optional<Warning> unusual_values() const {
    constexpr double kNormalized = 10;
    if (input_.scaled_bytes && observed_.reach() > kNormalized) {
      return warning("holds bytes that mean and std turn into " + describe(observed_) +
                     ", usual are about -3 to 3: for a mean and std of values from 0 to 1, "
                     "multiply both by 255");
    }
    constexpr double kPixels = 300;
    if (is_image_ && !observed_.is_whole && observed_.reach() > kPixels) {
      return warning("is an image with values beyond those of pixels " + describe(observed_) +
                     ": a mean and std for values from 0 to 1 may have been applied to bytes");
    }
    return std::nullopt;
  }

  /// Of images that were prepared well the first convolution makes values of about 1.
  std::optional<Warning> against_weights(const FirstLayer& layer) const {
    std::vector<double> deviations;
    std::vector<double> means;
    for (std::size_t c = 0; c < layer.observed.mean.size(); ++c) {
      deviations.push_back(std::sqrt(layer.observed.variance[c]));
      means.push_back(std::abs(layer.observed.mean[c]));
    }
    constexpr double kLargest = 10;
    constexpr double kSmallest = 0.02;
    const double deviation = median(deviations);
    const std::string of = "what '" + layer.node + "' makes of it deviates by " +
                           brief(deviation) + ", usual is about 1 ";
    // Some networks take pixels less their mean and nothing else.
    const bool is_centred = observed_.low < -20 && observed_.reach() <= 160;
    if (deviation > kLargest && !is_centred) {
      return warning("seems to be scaled up: " + of + describe(observed_));
    }
    if (deviation < kSmallest && deviation < kSmallest * median(means)) {
      return warning("seems to be scaled down: " + of + describe(observed_));
    }
    return std::nullopt;
  }

  const DatasetInput& input_;
  bool is_image_;
  const Values& observed_;
};

}  // namespace

std::vector<Warning> audit_inputs(const Graph& model, const Dataset& data, int threads) {
  const std::vector<FirstLayer> layers = first_layers(model, data, threads);
  const auto some = evenly_spaced(data, std::min(data.size(), kSamples));
  std::vector<Warning> warnings;
  for (const DatasetInput& input : data.inputs()) {
    const auto value = model.find_value(input.name);
    if (!value || !model.is_input(*value) || input.dtype != DType::kFloat32 ||
        element_count(input.shape) == 0) {
      continue;
    }
    const Values observed = values_of(*some, input.name);
    if (auto warning = InputAudit(input, model.type(*value).shape, observed).run(layers)) {
      warnings.push_back(*std::move(warning));
    }
  }
  return warnings;
}

std::vector<Warning> audit_sample_count(std::size_t samples) {
  // None were used where no range was to be found.
  if (samples == 0 || samples >= kFewestSamples) {
    return {};
  }
  return {{"few_samples", "samples",
           "there are only " + std::to_string(samples) + "; ranges found from fewer than " +
               std::to_string(kFewestSamples) + " are often too narrow, 100 to 500 are usual"}};
}

std::vector<Warning> audit_unread_inputs(const Graph& graph, const Dataset& data) {
  // A condition that was decided is still there, though nothing reads it.
  Graph read = graph;
  read.erase_unused();
  std::vector<Warning> warnings;
  for (const ValueId id : read.inputs()) {
    const std::string& name = read.name(id);
    const bool has_samples =
        std::any_of(data.inputs().begin(), data.inputs().end(),
                    [&](const DatasetInput& input) { return input.name == name; });
    const bool is_read_behind =
        graph.tail && std::find(graph.tail->inputs.begin(), graph.tail->inputs.end(), name) !=
                          graph.tail->inputs.end();
    if (read.users(id).empty() && !read.is_output(id) && !is_read_behind && has_samples &&
        element_count(read.type(id).shape) == 1) {
      std::string value;
      append_literal(value, static_cast<float>(data.read(name, 0, 1).to_double()[0]));
      warnings.push_back({"unread_input", "input '" + name + "'",
                          "no operator reads it; what depends on it was decided for " + value +
                              ", its value in all samples"});
    }
  }
  return warnings;
}

bool is_about_inputs(const Warning& warning) {
  return warning.kind == kKind || warning.kind == "unnormalized_input";
}

}  // namespace tare
