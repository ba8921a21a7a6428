#pragma once

#include "tare/graph.h"
#include "tare/simulate.h"

#include "simulate/placement/measured_layers.h"
#include "simulate/placement/placement.h"
#include "simulate/settings.h"

namespace tare {

/// Nanoseconds on either side, or whatever unit the target counts in.
struct Cost {
  double integers = 0;
  double floats = 0;
  bool known = false;
};

/// What keeps an operator of a region in float, or makes it worth its while not to be.
class RegionCosts {
 public:
  /// Small weights are worth some time; where it is about time alone that gain does not count.
  RegionCosts(const Graph& graph, const Settings& settings, bool counts_gain = true)
      : graph_(graph),
        settings_(settings),
        measured_(settings.target()),
        counts_gain_(counts_gain) {}

  Cost of(NodeId) const;
  /// Known where the objective is latency and the target gives costs for its products.
  Cost of(const Region&) const;
  /// Whether it reads or computes values of 16 bits that the target has no kernel for.
  bool computes_wide_in_float(const Region&) const;
  /// Why it stays in float.
  Placement in_float(const Region&) const;

 private:
  Cost by_operators(const Region&) const;
  /// Of its operands and its result. Where nothing was measured, nobody can say that a layer is
  /// slower on integers because of them, so that it runs there unless its accuracy counts.
  double conversions_of(const Region&) const;

  const Graph& graph_;
  const Settings& settings_;
  MeasuredLayers measured_;
  bool counts_gain_;
};

}  // namespace tare
