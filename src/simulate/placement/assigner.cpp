// Placement for many prices. Patterns are matched and the cut is stated once; raising a price
// only raises capacities, so each further cut starts from the flow of the one before and adds
// what is missing. A search asks for hundreds of these.
#include "simulate/placement/assigner.h"

#include "simulate/match_regions.h"
#include "simulate/placement/assignment.h"
#include "simulate/settings.h"

namespace tare {

struct Assigner::Problem {
  Problem(const Graph& source, const Config& config, const Target& target,
          std::span<const QuantPattern> patterns)
      : graph(source),
        settings(source, config, target),
        regions(match_candidates(source, settings, patterns)),
        // Where everything is quantized that can be, nothing is placed.
        placement(source, settings,
                  places_all() ? std::span<const Region>() : std::span<const Region>(regions)) {
  }

  bool places_all() const { return settings.objective() == Objective::kCoverage; }

  const Graph& graph;
  Settings settings;
  std::vector<Region> regions;
  PlacementProblem placement;
};

Assigner::Assigner(const Graph& graph, const Config& config, const Target& target,
                   std::span<const QuantPattern> patterns)
    : Assigner(std::make_shared<const Problem>(graph, config, target, patterns)) {}

Assigner::Assigner(std::shared_ptr<const Problem> problem)
    : Assigner(problem, MinCut::Flow(problem->placement.cut())) {}

Assigner::Assigner(std::shared_ptr<const Problem> problem, MinCut::Flow flow)
    : problem_(std::move(problem)), flow_(std::move(flow)), solution_(flow_.solve()) {
  if (!problem_->places_all()) {
    nanoseconds_ = problem_->placement.nanoseconds(solution_);
  }
}

std::optional<PriceId> Assigner::find(const std::string& name) const {
  return problem_->places_all() ? std::nullopt : problem_->placement.find(name);
}

Assigner Assigner::with(std::span<const std::pair<PriceId, double>> prices) const {
  MinCut::Flow flow = flow_;
  for (const auto& [id, nanoseconds] : prices) {
    problem_->placement.raise(id, nanoseconds, flow);
  }
  return {problem_, std::move(flow)};
}

std::set<std::string> Assigner::on_integers() const {
  std::set<std::string> result;
  for (std::size_t i = 0; i < problem_->regions.size(); ++i) {
    if (problem_->places_all() || problem_->placement.on_integers(i, solution_)) {
      result.insert(problem_->graph.node(problem_->regions[i].match.root()).name);
    }
  }
  return result;
}

bool Assigner::quantizes(PriceId id) const {
  return problem_->placement.quantizes(id, solution_);
}

double Assigner::nanoseconds_without(std::span<const std::string> names) const {
  return problem_->places_all() ? 0 : problem_->placement.nanoseconds_without(names, solution_);
}

Assignment assign(const Graph& graph, const Config& config, const Target& target,
                  std::span<const QuantPattern> patterns,
                  const std::map<std::string, double>& prices) {
  const Assigner free(graph, config, target, patterns);
  std::vector<std::pair<PriceId, double>> known;
  for (const auto& [name, nanoseconds] : prices) {
    if (const auto id = free.find(name)) {
      known.emplace_back(*id, nanoseconds);
    }
  }
  const Assigner assigner = free.with(known);
  Assignment result{.on_integers = assigner.on_integers(),
                    .nanoseconds = assigner.nanoseconds(),
                    .quantized = {}};
  for (const auto& [name, nanoseconds] : prices) {
    if (const auto id = free.find(name); id && assigner.quantizes(*id)) {
      result.quantized.insert(name);
    }
  }
  return result;
}

}  // namespace tare
