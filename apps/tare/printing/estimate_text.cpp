#include "printing/estimate_text.h"

#include "tare/process.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tare::cli {
namespace {

constexpr double kMinute = 60;
constexpr double kHour = 3600;

/// Two digits, as an expectation has no more.
std::string duration(double seconds) {
  if (seconds < kMinute) {
    return fmt::format("{:.2g} s", std::max(seconds, 0.1));
  }
  return seconds < kHour ? fmt::format("{:.0f} min", seconds / kMinute)
                         : fmt::format("{:.1f} h", seconds / kHour);
}

}  // namespace

std::string effort_text(Effort effort) {
  return effort == Effort::kFast ? "fast" : effort == Effort::kBest ? "best" : "default";
}

std::string fitting_text(const CostEstimate& cost, Effort fitting, Effort most) {
  if (fitting == most) {
    return effort_text(fitting);
  }
  const Effort next = fitting == Effort::kFast ? Effort::kDefault : Effort::kBest;
  return fmt::format("{}; {} is expected to take {}{}", effort_text(fitting), effort_text(next),
                     next == Effort::kBest ? "perhaps " : "", duration(cost.seconds.at(next)));
}

std::string as_text(const DryRun& run, const Terminal& terminal) {
  const auto& seconds = run.cost.seconds;
  const std::string about = run.effort == Effort::kBest ? "perhaps " : "about ";
  std::string others;
  for (const auto& [effort, expected] : seconds) {
    if (effort != run.effort) {
      others += fmt::format("{}{} {}{}", others.empty() ? "" : ", ", effort_text(effort),
                            effort == Effort::kBest ? "perhaps " : "", duration(expected));
    }
  }
  std::string text =
      terminal.styled(Style::kHeading, printable(run.model) + " -> " + printable(run.output)) +
      ": a dry run, nothing is written\n";
  text += fmt::format("  samples     {}\n", run.samples);
  text += fmt::format("  time        {}{}; with --effort {}\n", about,
                      duration(seconds.at(run.effort)), others);
  text += fmt::format("  memory      about {}, {} of it for activations between layers\n",
                      memory_text(run.cost.memory), memory_text(run.cost.activations));
  text += run.cost.disk > 0 ? fmt::format("  disk        up to {} of temporary files\n",
                                          memory_text(run.cost.disk))
                            : "  disk        no temporary files\n";
  return text;
}

Json as_json(const DryRun& run) {
  Json seconds;
  for (const auto& [effort, expected] : run.cost.seconds) {
    seconds[effort_text(effort)] = expected;
  }
  return {{"model", run.model},
          {"output", run.output},
          {"dry_run", true},
          {"samples", run.samples},
          {"effort", effort_text(run.effort)},
          {"seconds", std::move(seconds)},
          {"memory", std::llround(run.cost.memory)},
          {"activations", std::llround(run.cost.activations)},
          {"disk", std::llround(run.cost.disk)}};
}

}  // namespace tare::cli
