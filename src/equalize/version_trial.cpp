// Tells which of two versions of a float network is easier to quantize, by trying. Both are
// quantized roughly, with nearest weights and whole ranges, and compared with the float network
// on samples that factors were not fitted to. Predicting the error from ranges would not say
// how much the rest of the network cares. Cost: a float run and two quantized ones for each
// holdout sample, the latter for half of them where these speak against the change.
#include "equalize/version_trial.h"

#include "calibrate/calibrate.h"
#include "calibrate/selection/trial.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tare {
namespace {

/// Part of the error that has to be left at most: what the trial shows is not exactly what
/// comes of it, with ranges and integers chosen more carefully. 0.8 is 1 dB.
constexpr double kClearlyLess = 0.8;

class WholeRange final : public Calibrator {
 public:
  Range choose(const TensorStatistics& observed, const QuantSpec&) const override {
    return {observed.low(), observed.high()};
  }
};

/// The same names, all of which keep everything: the quickest that say which network is the
/// easier one to quantize.
std::vector<CalibratorInfo> that_keep_everything(std::span<const CalibratorInfo> calibrators) {
  std::vector<CalibratorInfo> result(calibrators.begin(), calibrators.end());
  for (CalibratorInfo& info : result) {
    info.candidates.clear();
    info.make = [](const CalibratorOptions&) { return std::make_unique<WholeRange>(); };
    info.takes_extremes = true;
  }
  return result;
}

/// The geometric mean: few samples with large errors are not to decide alone.
double typical(std::span<const double> errors) {
  double logarithms = 0;
  for (const double error : errors) {
    logarithms += std::log(std::max(error, std::numeric_limits<double>::min()));
  }
  return std::exp(logarithms / static_cast<double>(errors.size()));
}

/// A network with all of its points quantized.
class Network {
 public:
  Network(const SimulatedGraph& simulated, const QuantTable& table, int threads)
      : network_(quantized_network(simulated, table, threads)) {}

  /// The typical error of all runs up to that one; asked for more and more of them.
  double error(const Trial& trial, std::size_t end) {
    const auto more =
        trial.errors(network_.executable, {&network_.setting, 1}, errors_.size(), end)[0];
    errors_.insert(errors_.end(), more.begin(), more.end());
    return typical(errors_);
  }

 private:
  Branch network_;
  std::vector<double> errors_;
};

}  // namespace

CalibrateOptions VersionTrial::all() const {
  CalibrateOptions result = holdout;
  result.first = fitting.first;
  return result;
}

SimulatedGraph VersionTrial::simulate(const Graph& version) const {
  return tare::simulate(version, config, target, patterns);
}

bool VersionTrial::is_clearly_better(const Version& changed, const Version& plain) const {
  const std::vector<CalibratorInfo> quick = that_keep_everything(calibrators);
  const auto network = [&](const Version& version) {
    return Network(version.simulated,
                   choose(version.simulated, version.observed, quick, nullptr, fitting.threads),
                   fitting.threads);
  };
  const Trial trial(reference, data, holdout);
  Network before = network(plain);
  Network after = network(changed);
  // Where the first half of the samples speaks against it, the rest is not asked.
  const std::size_t half = (trial.runs() + 1) / 2;
  return after.error(trial, half) < before.error(trial, half) &&
         after.error(trial, trial.runs()) < kClearlyLess * before.error(trial, trial.runs());
}

}  // namespace tare
