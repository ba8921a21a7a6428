#pragma once

#include "tare/error.h"
#include "tare/quantize.h"
#include "tare/simulate.h"

#include "calibrate/calibrate.h"
#include "equalize/equalize.h"
#include "lower/stored_caches.h"
#include "search/mixed_precision.h"
#include "search/sensitivities.h"

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace tare {

/// Runs a stage; an error on its way out says what was going on.
template <class Stage>
auto during(const char* activity, Stage stage) {
  try {
    return stage();
  } catch (Error& error) {
    error.during(activity);
    throw;
  }
}

/// Throws Error(kInvalidModel) with all invalid_constants().
void require_numbers(const Graph&);

/// Where no operator may stay in float, every one that did is a fault; `kept` says why.
void check_fallback(const Config&, const Graph& integer, const std::vector<KeptFloat>& kept);

/// lower_quantized() with the arithmetic of layers of which the configuration says nothing.
Graph lower_quantized(Graph model, const Config&, const Toolkit&,
                      const std::map<std::string, SumArithmetic, std::less<>>& stated);

/// The stages on their way to a result. The toolkit has to outlive it.
class Stages {
 public:
  Stages(const Graph& model, const Config&, const Toolkit&);

  const Graph& prepared() const { return result_.prepared; }
  const SimulatedGraph& simulated() const { return result_.simulated; }
  /// That which is configured, or more for a detector, where boxes show every error.
  double slowdown() const;

  void use(ChannelFactors, int threads = 1);
  void keep_float(std::set<std::string> nodes) { result_.float_nodes = std::move(nodes); }
  void widen(std::set<std::string> values) { wide_values_ = std::move(values); }
  void simulate();
  /// From now on what would make 0 of numbers that are divided by stays in float, unless the
  /// configuration wants it on integers. Not where time decides.
  void keep_small_divisors(const Dataset&, const CalibrateOptions&);
  /// The same by what was observed of the network before.
  void keep_small_divisors(const Statistics&);

  /// `decide` makes a table of the simulated graph and fills the audit.
  template <class Decide>
  void decide(const char* activity, Decide decide) {
    result_.audit = {};
    result_.table = during(activity, [&] { return decide(result_.simulated, result_.audit); });
  }

  /// Uses the factors that help, if the configuration asks for any.
  void equalize(const Dataset&, const CalibrateOptions&);
  /// Decides what is simulated now, by the configured schedule. A sequential one keeps its
  /// decisions in the journal, which may be null.
  void calibrate(const Dataset&, const CalibrateOptions&, LevelJournal* = nullptr);
  bool is_sequential() const { return schedule_of(config_) == Schedule::kSequential; }
  const ChannelFactors& factors() const { return result_.factors; }
  const std::set<std::string>& float_nodes() const { return result_.float_nodes; }
  const std::set<std::string>& wide_values() const { return wide_values_; }

  /// Parameters for the float network, of which each is tried alone.
  QuantTable independent_table(const Dataset&, const CalibrateOptions&) const;
  /// The sensitivities of these points, with the parameters of independent_table().
  Sensitivities errors(const Dataset&, const CalibrateOptions&, const QuantTable&,
                       const std::set<std::string>& points, const MeasuredSensitivities&) const;

  /// The ways to share what is simulated out that are at most that much slower, or those of
  /// wide_activation_plans() where nothing may be in float.
  std::vector<MixedPrecisionPlan> mixed_precision_plans(
      const Dataset&, const CalibrateOptions&, double slowdown,
      const MeasuredSensitivities& = {}) const;
  /// Of those that are at most as much slower as is configured the one with the least error.
  /// Where nothing is configured, the one that is worth most, by time and error; and where its
  /// error is large, more slowdown is tried, and taken if the error is not large then.
  MixedPrecisionPlan best_plan(const Dataset&, const CalibrateOptions&) const;
  /// Which activations are to have 16 bits where nothing may be in float: see
  /// wide_activations(). None for other targets and objectives.
  std::set<std::string> wide_values_within(const Dataset&, const CalibrateOptions&,
                                           double slowdown) const;

  /// Finds the scales of caches, where these are to be stored as integers.
  void observe_caches(const Dataset&, const CalibrateOptions&);

  /// Lowers what was decided; once.
  QuantizeResult finish();

 private:
  /// Where nothing may be in float and the target has activations of 16 bits.
  bool may_widen() const;
  /// Activations of 8 bits of which nobody says how many bits they have.
  std::set<std::string> widenable() const;
  Sensitivities all_errors(const Dataset&, const CalibrateOptions&,
                           const MeasuredSensitivities&) const;
  /// The first sample that independent_table() has not seen, where enough follow to try plans
  /// on; else 0.
  std::size_t first_unseen(const Dataset&, const CalibrateOptions&) const;
  struct PlanTrials;
  /// Of everything that the plan quantizes, with the parameters of independent_table().
  double error_of(const MixedPrecisionPlan&, const QuantTable&, const PlanTrials&) const;
  /// The time in float divided by that of what is simulated, less 1; at least 0. Nothing where
  /// the target's costs do not say, or time does not decide.
  std::optional<double> saved() const;
  /// By a tenth at least, as far as the target's costs say; with something on integers.
  bool is_faster_than_float(const MixedPrecisionPlan&, const QuantTable&) const;
  /// Up to which a plan is chosen by what it is worth: slowdown(), or by costs of a processor
  /// up to 15 %, where integers save four times as much.
  double worthwhile_slowdown() const;

  Config config_;
  const Toolkit* toolkit_;
  Target target_;
  std::span<const QuantPattern> patterns_;  // none where all runs on integers already
  std::set<std::string> wide_values_;
  std::map<std::string, CacheScales> caches_;
  QuantizeResult result_;
  Graph equalized_;      ///< the prepared one, with the factors
  Statistics observed_;  ///< of `prepared`; of no samples where it was equalized
};

}  // namespace tare
