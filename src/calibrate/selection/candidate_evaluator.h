#pragma once

#include "calibrate/selection/select_calibrators.h"
#include "calibrate/selection/trial.h"
#include "simulate/fake_quantized.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace tare {

/// The first rung of successive halving, in runs: settings that are clearly worse than others
/// are eliminated, and again after twice as many runs. Of fewer the standard error is a guess.
constexpr std::size_t kFirstRung = 16;

double sum(std::span<const double> errors);

/// What the sum of as many other numbers of that kind would be off by, typically.
double standard_error(std::span<const double> numbers);

/// A setting with its error in each run so far.
struct CandidateSetting {
  std::size_t candidate;
  Setting setting;
  std::vector<double> errors{};
};

/// Less than 0 where `a` does better in the first runs, of which both have had so many.
std::vector<double> change(const CandidateSetting& a, const CandidateSetting& b,
                           std::size_t runs);

/// Evaluates the network with parameters for all points. What it is made of has to outlive it,
/// but for the graph.
class CandidateEvaluator {
 public:
  CandidateEvaluator(const FakeQuantizedGraph&, const CandidateTable&, const Trial&);

  const std::vector<std::size_t>& open() const { return open_; }  ///< points with candidates
  const std::string& name(std::size_t point) const { return points_[point]; }

  Setting all_disabled() const { return Setting(points_.size(), disabled_point()); }
  Setting primary_setting() const;

  /// Those of all runs.
  std::vector<double> errors(const Setting&) const;

  /// The different settings that candidates make of some points.
  std::vector<CandidateSetting> candidate_settings(const Setting& base,
                                                   std::span<const std::size_t> points) const;

  /// Lets all of them have the first `runs` runs. Those that have not had so many yet must have
  /// had the same ones.
  void run(std::vector<CandidateSetting>& candidate_settings, std::size_t runs) const;
  void run(std::span<std::vector<CandidateSetting>* const> contests, std::size_t runs) const;

  /// Eliminates, of each of some contests, those that are clearly worse than another. Where
  /// only one is left, it has not had all runs. All contests have the same runs at once, as
  /// settings that differ in few points share the rest of the network.
  void successive_halving(std::span<std::vector<CandidateSetting>> contests) const;

 private:
  std::size_t most(std::span<const std::size_t> points) const;

  std::vector<std::string> points_;
  const CandidateTable& candidate_table_;
  const Trial& trial_;
  Executable executable_;
  std::vector<std::size_t> open_;
};

}  // namespace tare
