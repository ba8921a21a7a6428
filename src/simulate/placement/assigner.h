#pragma once

#include "tare/simulate.h"

#include "simulate/placement/placement.h"

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tare {

/// What of a graph runs on integers under some prices, as assign() says. Patterns are matched
/// once, for any number of prices. What it is made from must outlive it.
class Assigner {
 public:
  /// Without prices.
  Assigner(const Graph&, const Config&, const Target&, std::span<const QuantPattern>);

  /// Nothing of what is never quantized.
  std::optional<PriceId> find(const std::string& name) const;
  /// With more to pay for these, in nanoseconds.
  Assigner with(std::span<const std::pair<PriceId, double>> prices) const;

  /// As in Assignment.
  double nanoseconds() const { return nanoseconds_; }
  std::set<std::string> on_integers() const;
  bool quantizes(PriceId) const;
  /// No less than what assign() takes for prices that nobody pays: found by changing as little
  /// as possible, in the time that this takes. May be infinite.
  double nanoseconds_without(std::span<const std::string> names) const;

 private:
  struct Problem;
  explicit Assigner(std::shared_ptr<const Problem>);
  Assigner(std::shared_ptr<const Problem>, MinCut::Flow);

  std::shared_ptr<const Problem> problem_;
  MinCut::Flow flow_;
  std::vector<bool> solution_;
  double nanoseconds_ = 0;
};

}  // namespace tare
