#pragma once

#include "tare/simulate.h"

#include "graph/ir/subgraph.h"

#include <span>

namespace tare {

/// bind() of parts of a simulated graph, which must outlive it. What a part costs depends on
/// its own size.
class PartBinder {
 public:
  explicit PartBinder(const SimulatedGraph& simulated)
      : simulated_(simulated), cutter_(simulated.graph) {}

  /// What computes `results` from `sources`, values of the simulated graph whose points are
  /// decided, and from its inputs. The part's outputs are the results, in their order; it does
  /// not say what becomes of other values.
  Subgraph bind(const QuantTable&, std::span<const ValueId> sources,
                std::span<const ValueId> results) const;

 private:
  const SimulatedGraph& simulated_;
  GraphCutter cutter_;
};

}  // namespace tare
