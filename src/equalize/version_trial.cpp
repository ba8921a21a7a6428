// Tells which of two versions of a float network is easier to quantize, by trying. Both are
// quantized roughly, with nearest weights and whole ranges, and compared with the float network
// on samples that factors were not fitted to. Predicting the error from ranges would not say
// how much the rest of the network cares. Cost: a float run and two quantized ones for half of
// the holdout samples, and where these leave it open, for all of them.
#include "equalize/version_trial.h"

#include "base/bytes.h"
#include "calibrate/calibrate.h"
#include "calibrate/selection/trial.h"
#include "execute/run/feed.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

/// Every second process of a team, as a team of its own. Both halves have to make the same
/// calls in the same order, because the whole team exchanges their messages.
class HalfOfTeam final : public Communicator {
 public:
  /// That of this process, of an even number.
  explicit HalfOfTeam(Communicator& team) : team_(team) {}
  int half() const { return team_.rank() % 2; }
  /// What the halves have.
  std::array<double, 2> of_both(double own) {
    ByteWriter writer;
    writer.add(own);
    const std::vector<std::string> all = team_.gather(writer.take(), Message::kErrors);
    return {ByteReader(all[0]).get<double>(), ByteReader(all[1]).get<double>()};
  }
  int rank() const override { return team_.rank() / 2; }
  int count() const override { return team_.count() / 2; }
  std::vector<std::string> gather(std::string own, Message about) override {
    std::vector<std::string> all = team_.gather(std::move(own), about);
    std::vector<std::string> result;
    for (auto i = static_cast<std::size_t>(half()); i < all.size(); i += 2) {
      result.push_back(std::move(all[i]));
    }
    return result;
  }

 private:
  Communicator& team_;
};

/// Two networks that are tried on the same runs. Of an even number of processes each half has
/// one of them: making a large one takes longer than some runs of it. Of an odd number all have
/// both, since with fewer runs than processes unequal halves would not make the same calls.
class Pair {
 public:
  /// The trials have the samples of these options.
  Pair(const CalibrateOptions& options, const std::function<Branch(std::size_t)>& network)
      : options_(options) {
    Communicator* const team = options.communicator;
    if (team != nullptr && team->count() % 2 == 0) {
      options_.communicator = &half_.emplace(*team);
    }
    for (std::size_t i = 0; i < networks_.size(); ++i) {
      if (!half_ || half_->half() == static_cast<int>(i)) {
        networks_[i].emplace(network(i));
      }
    }
  }

  /// The error of the second network over that of the first.
  double left(const std::function<Trial(const CalibrateOptions&)>& trial) {
    const Trial own = trial(options_);
    std::array<double, 2> errors{};
    for (std::size_t i = 0; i < networks_.size(); ++i) {
      if (networks_[i]) {
        errors[i] = error(own, *networks_[i]);
      }
    }
    if (half_) {
      errors = half_->of_both(errors[static_cast<std::size_t>(half_->half())]);
    }
    return errors[1] / errors[0];
  }

 private:
  CalibrateOptions options_;
  std::optional<HalfOfTeam> half_;
  std::array<std::optional<Branch>, 2> networks_;
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
  Pair networks(holdout, [&](std::size_t i) {
    const Version& version = i == 0 ? plain : changed;
    return quantized_network(
        version.simulated,
        choose(version.simulated, version.observed, quick, nullptr, fitting.threads),
        fitting.threads);
  });
  // Where half of the samples leaves no doubt, the others are not asked.
  const std::size_t runs = Feed(reference, data, holdout.samples, holdout.first).runs();
  const double left = networks.left([&](const CalibrateOptions& options) {
    return Trial(reference, data, options, (runs + 1) / 2);
  });
  if (!(left < 1) || left < kClearlyLess * kClearlyLess) {
    return left < 1;
  }
  return networks.left([&](const CalibrateOptions& options) {
    return Trial(reference, data, options);
  }) < kClearlyLess;
}

}  // namespace tare
