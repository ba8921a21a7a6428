// Tells which of two versions of a float network is easier to quantize, by trying. Both are
// quantized roughly, with nearest weights and whole ranges, and compared with the float network
// on samples that factors were not fitted to. Predicting the error from ranges would not say
// how much the rest of the network cares. Cost: a float run and two quantized ones for half of
// the holdout samples, and where these leave it open, for all of them.
#include "equalize/version_trial.h"

#include "calibrate/calibrate.h"
#include "calibrate/selection/trial.h"
#include "execute/run/feed.h"

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

double error(const Trial& trial, const Branch& network) {
  return typical(
      trial.errors(network.executable, {&network.setting, 1}, 0, trial.runs()).front());
}

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
    return quantized_network(
        version.simulated,
        choose(version.simulated, version.observed, quick, nullptr, fitting.threads),
        fitting.threads);
  };
  const std::size_t runs = Feed(reference, data, holdout.samples, holdout.first).runs();
  const Trial half(reference, data, holdout, (runs + 1) / 2);
  const Branch before = network(plain);
  const Branch after = network(changed);
  // Where half of the samples leaves no doubt, the others are not asked.
  const double left = error(half, after) / error(half, before);
  if (!(left < 1) || left < kClearlyLess * kClearlyLess) {
    return left < 1;
  }
  const Trial all(reference, data, holdout);
  return error(all, after) < kClearlyLess * error(all, before);
}

}  // namespace tare
