#pragma once

#include "tare/execute.h"
#include "tare/graph.h"
#include "tare/quant_table.h"
#include "tare/statistics.h"

#include "calibrate/statistics/observed.h"
#include "execute/run/sample_driver.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tare {

/// What shall observe a value of the source graph, and has seen nothing yet.
using StartObserving = std::function<Observed(ValueId)>;

struct Collected {
  Statistics statistics;
  std::map<std::string, std::unique_ptr<Observer>> observers;  ///< by name of the value
};

/// What a pass observes.
struct ShownValues {
  Graph graph;                     ///< the network, with what shows parts of its values
  std::vector<ValueId> values;     ///< those with names, then the parts
  std::vector<std::string> names;  ///< of values of the network
  std::vector<std::string>
      rectified;  ///< of those whose visible parts (rectified_sum.h) follow
};

/// A pass over samples that may be made in parts: what is compiled for it stays. The graph must
/// outlive it.
class Collector {
 public:
  Collector(const SimulatedGraph&, int threads);

  /// collect(), by the threads that were asked for at first.
  Statistics run(const Dataset&, const CalibrateOptions&, Statistics so_far, CalibrationAudit*);
  /// The same by other means, such as with the values also shown to observers.
  Collected run(const Dataset&, const CalibrateOptions&, Statistics so_far,
                const StartObserving&, CalibrationAudit*);

 private:
  const Graph& graph_;
  std::uint64_t model_;
  ShownValues shown_;
  Executable executable_;
  SampleDriver driver_;
};

}  // namespace tare
